/* Screen 3: the revised answer keeps its place, and is edited only as it now stands.

   The panel on the right scrolls by itself; a swapped panel would begin at its top again.
   Who goes from a statement straight into the answer waits for the moment until that statement is saved and its words
   are in the answer: else the edited answer would silently lack them. */
(() => {
  "use strict";
  const ts = window.touchstone;
  let held = 0;

  const answer = () => document.getElementById("response-text");
  const onTheWay = () => {
    const { entries, offline } = ts.outbox.summary();
    return !offline && entries.some((entry) => !entry.blocked && entry.record.startsWith("sentence-revision:"));
  };

  document.addEventListener("focusin", async (event) => {
    if (event.target !== answer() || event.target.readOnly || !onTheWay()) return;
    const before = event.target;
    before.readOnly = true;
    await ts.outbox.flush();
    before.readOnly = false; // still there where the answer no longer follows the statements
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target?.id === "workspace") held = document.getElementById("answer")?.scrollTop ?? 0;
  });
  document.addEventListener("htmx:afterSwap", () => {
    const wanted = held;
    const put = () => document.getElementById("answer")?.scrollTo(0, wanted);
    held = 0;
    if (!wanted) return;
    put();
    // Once more when the differences are drawn (diff.js does so in the next frame): until then the panel is shorter.
    requestAnimationFrame(() => requestAnimationFrame(put));
  });
})();
