// Asks the page to look at the run store again: seldom while nobody sees the page, and
// not before the look before was answered.
const clocks = new WeakMap();
const AGAIN = 200; // milliseconds until a look that cannot be now
const ANSWER = 2000; // milliseconds until Streamlit says that it draws what was asked for
const LOST = 4000; // milliseconds after which a look that nothing answers was lost
const LATE = 30000; // milliseconds in which a page that a link leads to may come
// When the visitor last did what may turn the page, and the path of the page that a link
// led to, until it is there: it may have been pressed before this came, and has the focus.
let pressed = performance.now();
let wanted = path(document.activeElement?.closest("a"));

for (const what of ["click", "popstate"]) {
  window.addEventListener(what, press, { capture: true });
}

function press(event) {
  pressed = performance.now();
  const link = event.composedPath?.().find((each) => each.tagName === "A");
  const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
  wanted = elsewhere ? null : path(link);
}

function path(link) {
  return link?.href && link.target !== "_blank" ? new URL(link.href).pathname : null;
}

// Streamlit calls this again, with the same parent, each time the data change.
export default function ({ data, parentElement, setTriggerValue }) {
  let clock = clocks.get(parentElement);
  if (!clock) clocks.set(parentElement, (clock = new Clock()));
  clock.take(data, () => setTriggerValue(isEmpty() ? "empty" : "look", data.beat));
  return () => {
    // Streamlit also ends a call that newer data overtook: the clock goes on.
    if (parentElement.isConnected) return;
    clock.end();
    clocks.delete(parentElement);
  };
}

// Whether a page is being drawn, or was perhaps asked for. It may be another one: a look
// would be taken for a visitor's who is still on the page before, and Streamlit would go
// back there, or leave the page empty.
function isDrawing() {
  const passed = performance.now() - pressed;
  if (passed < ANSWER) return true;
  if (wanted !== null && location.pathname !== wanted && passed < LATE) return true;
  wanted = null;
  const app = document.querySelector("[data-testid=stApp]");
  return ["running", "rerunRequested"].includes(app?.dataset.testScriptState);
}

// Whether the page was left empty: it answers a look that was asked on the page before.
function isEmpty() {
  const page = "[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock]";
  return document.querySelector(`${page}:empty`) !== null;
}

class Clock {
  constructor() {
    this.plan = this.plan.bind(this);
    document.addEventListener("visibilitychange", this.plan);
  }

  /** The page has answered: the time to the next look runs from now. */
  take(data, look) {
    this.data = data;
    this.look = look;
    this.answered = performance.now();
    this.plan();
  }

  plan() {
    const { seconds, hidden_seconds } = this.data;
    const passed = performance.now() - this.answered;
    const wait = 1000 * (document.hidden ? hidden_seconds : seconds) - passed;
    this.ask(Math.max(0, wait));
  }

  ask(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (isDrawing()) return this.ask(AGAIN);
      this.look();
      this.ask(document.hidden ? 1000 * this.data.hidden_seconds : LOST); // if no answer
    }, wait);
  }

  end() {
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.plan);
  }
}
