"""The node that the visitor selected in a run's tree."""

import streamlit as st


def selected_node(run_id: str) -> str | None:
    """Return the key of the node that the address, or an earlier click, selects.

    Once another run is chosen, the address still names the node of the run before.
    """
    named = st.query_params.get("node")
    of_this_run = st.session_state.get("node-run", run_id) == run_id
    if of_this_run and named is not None and named.startswith("r"):
        return named[1:]
    return st.session_state.get(f"node-{run_id}")


def select_node(run_id: str, key: str | None) -> None:
    """Remember the selected node, and put it into the address.

    The address has "r" and the path from the root, 0 left and 1 right: "r01".
    """
    st.session_state["node-run"] = run_id
    st.session_state[f"node-{run_id}"] = key
    if key is None:
        st.query_params.pop("node", None)
    elif st.query_params.get("node") != f"r{key}":
        st.query_params["node"] = f"r{key}"
