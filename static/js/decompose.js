/* Decompose: the map of the response and the counts, which a save does not draw anew. The server tells how the saved
   sentence stands: event touchstone:sentence {id, complete, folded, at}. `at` grows with every change of the sentence, so
   an answer that was overtaken by a later one changes nothing. */
(() => {
  "use strict";
  const newest = new Map(); // sentence -> at
  const links = (which = "") => document.querySelectorAll(`#map a${which}`);

  function show({ id, complete, folded, at }) {
    if ((newest.get(id) ?? 0) > at) return;
    newest.set(id, at);
    const [link] = links(`[href="?sentence=${CSS.escape(id)}"]`);
    if (!link) return;
    link.classList.toggle("todo", !complete);
    link.classList.toggle("ok", complete);
    link.classList.toggle("soft", folded);
    link.querySelector("sup .visually-hidden").textContent = complete ? " complete: " : " incomplete: ";
    count();
  }

  function count() {
    const left = links(".todo").length;
    const find = (what) => document.querySelector(`:is(#progress, #foot) [data-${what}]`);
    find("complete").textContent = links().length - left;
    const some = find("some-left");
    if (!some) return; // the work is locked
    some.hidden = left === 0;
    find("none-left").hidden = left > 0;
    find("left").textContent = `${left} sentence${left === 1 ? "" : "s"} left`;
  }

  document.addEventListener("touchstone:sentence", (event) => show(event.detail));
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-first-left]")) links(".todo")[0]?.click();
  });
})();
