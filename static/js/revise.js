/* The revise screen: the revised response is edited only in its current version.

   When the focus moves from a statement to the response, the response stays read-only until the statement is saved and
   the response includes it. Otherwise the edited response would silently lack the change. */
(() => {
  "use strict";
  const ts = window.touchstone;

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
    before.readOnly = false; // not replaced if the response no longer follows the statements
  });
})();
