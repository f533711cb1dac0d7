/* Active time: whole seconds in which this page was in front, had the focus, and was used within the last
   minute. Each save takes the seconds gathered since the last one; a save that fails gives them back.

   touchstone.active.take() -> seconds;  touchstone.active.giveBack(seconds) */
(() => {
  "use strict";
  const IDLE_AFTER = 60_000; // ms without a sign of the person
  const ts = (window.touchstone = window.touchstone || {});
  let seconds = 0;
  let lastSign = Date.now();

  for (const sign of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "input"]) {
    document.addEventListener(sign, () => (lastSign = Date.now()), { passive: true, capture: true });
  }

  setInterval(() => {
    if (document.hasFocus() && !document.hidden && Date.now() - lastSign < IDLE_AFTER) seconds += 1;
  }, 1000);

  ts.active = {
    take() {
      const taken = seconds;
      seconds = 0;
      return taken;
    },
    giveBack(taken) {
      seconds += taken;
    },
  };
})();
