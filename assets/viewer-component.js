// Streamlit calls this again, with the same parent, each time the data change.
const views = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const text = new TextDecoder().decode(data);
  let view = views.get(parentElement);
  if (!view) {
    view = { text, version: null };
    views.set(parentElement, view);
    view.data = JSON.parse(text);
    view.root = document.createElement("div");
    parentElement.appendChild(view.root);
    const select = (key) => setView({ key });
    // Selection and frame travel as one value: one rerun each time.
    const setView = (changed) => {
      Object.assign(view, changed);
      view.send("at", { key: view.key ?? null, frame: view.data.frames?.kind ? view.handle.frame() : null });
    };
    view.handle = treelabViewer.mount(view.root, {
      data: view.data,
      onSelect: select,
      onEvent: (name) => {
        if (name !== "frame") return;
        // Without a selected node, frames are reported only where a page wants them.
        if (view.key != null || view.data.options?.report_frames) setView({});
      },
    });
  } else if (text !== view.text) {
    view.text = text;
    view.data = JSON.parse(text);
    view.handle.update(view.data);
  }
  view.send = setStateValue;
  const wanted = view.data.select;
  if (wanted && wanted.version !== view.version) {
    view.version = wanted.version;
    view.key = wanted.key;
    view.handle.select(wanted.key);
  }
  return () => {
    // Streamlit also ends a call that newer data overtook: the viewer stays.
    if (parentElement.isConnected) return;
    view.handle.destroy();
    views.delete(parentElement);
  };
}
