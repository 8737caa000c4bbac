// Streamlit calls this again, with the same parent, when its theme changes.
const seen = new WeakMap();
export default function ({ parentElement, setStateValue }) {
  let probe = parentElement.querySelector("i");
  if (!probe) {
    probe = document.createElement("i");
    probe.style.cssText = "color: var(--st-background-color); transition: color 1ms";
    parentElement.append(probe);
  }
  const observe = () => {
    const background = getComputedStyle(probe).color;
    if (seen.has(parentElement) && seen.get(parentElement) !== background) {
      setStateValue("background", background);
    }
    seen.set(parentElement, background);
  };
  probe.ontransitionend = observe;
  observe();
}
