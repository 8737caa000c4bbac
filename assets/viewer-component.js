// Streamlit calls this again, with the same parent, each time the data change.
const views = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const text = new TextDecoder().decode(data);
  let view = views.get(parentElement);
  if (!view) {
    view = { text, frame: null, stamp: null };
    views.set(parentElement, view);
    view.data = JSON.parse(text);
    view.frame = view.data.frames?.chosen ?? 0;
    const root = document.createElement("div");
    parentElement.appendChild(root);
    const tell = (key) => setView({ key });
    // Selection and frame travel as one value: one rerun each time.
    const setView = (changed) => {
      Object.assign(view, changed);
      view.send("at", { key: view.key ?? null, frame: view.frame });
    };
    view.handle = treelabViewer.mount(root, {
      data: view.data,
      onSelect: tell,
      onEvent: (name, value) => {
        if (name !== "frame") return;
        view.frame = value;
        // Without a node to speak of, only a page that asks hears of frames.
        if (view.key != null || view.data.options?.tell_frames) setView({});
      },
    });
  } else if (text !== view.text) {
    view.text = text;
    view.data = JSON.parse(text);
    const last = view.data.trees.length - 1;
    view.frame = Math.min(view.frame, last);
    view.handle.update(view.data);
  }
  view.send = setStateValue;
  const select = view.data.select;
  if (select && select.stamp !== view.stamp) {
    view.stamp = select.stamp;
    view.key = select.key;
    view.handle.select(select.key);
  }
  return () => {
    view.handle.destroy();
    views.delete(parentElement);
  };
}
