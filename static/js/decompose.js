/* Decompose: what one page has once, however long the response is. The map of the response and the counts, which a save
   does not draw anew: the server tells how the saved
   sentence stands: event touchstone:sentence {id, complete, folded, at}. `at` grows with every change of the sentence, so
   an answer that was overtaken by a later one changes nothing. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const newest = new Map(); // sentence -> at
  let unseen = ""; // the record that has to be looked at next
  // A sentence of several blocks has a link in each; the first one (not .rest) carries its number.
  const links = (which = "") => document.querySelectorAll(`#map a:not(.rest)${which}`);
  const all = (id) => document.querySelectorAll(`#map a[href="?sentence=${CSS.escape(id)}"]`);

  function show({ id, complete, folded, at }) {
    if ((newest.get(id) ?? 0) > at) return;
    newest.set(id, at);
    const [first] = all(id);
    if (!first) return;
    for (const link of all(id)) {
      link.classList.toggle("todo", !complete);
      link.classList.toggle("ok", complete);
      link.classList.toggle("soft", folded);
    }
    first.querySelector("sup .visually-hidden").textContent = complete ? " complete: " : " incomplete: ";
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

  /** The panel alone was swapped: the map shows the sentence that it is at. */
  function moveTo(id) {
    const [here, ...rest] = all(id);
    if (!here) location.assign(`?sentence=${id}`); // split off in another tab: this map is old
    for (const link of document.querySelectorAll("#map a:is([aria-current], .here)")) {
      link.removeAttribute("aria-current");
      link.classList.remove("here");
      link.tabIndex = -1;
    }
    for (const link of rest) link.classList.add("here");
    here?.setAttribute("aria-current", "true");
    here?.removeAttribute("tabindex");
  }

  document.addEventListener("touchstone:here", (event) => moveTo(event.detail.id));
  document.addEventListener("touchstone:sentence", (event) => show(event.detail));
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-first-left]")) links(".todo")[0]?.click();
    const move = event.target.closest?.("[data-move]");
    if (move) fillMoves(move.dataset.move);
  });

  /* --- A accepts what has been in view, and shows what has not ([data-accept]) --- */

  const waiting = () => [...document.querySelectorAll("#panel [data-record]")].filter((each) => each.querySelector("[data-look]")?.checkVisibility());

  document.addEventListener("htmx:configRequest", (event) => {
    if (!event.target.matches("[data-accept]")) return;
    const seen = ts.inView.among(waiting());
    event.detail.parameters.seen = seen.map((each) => each.dataset.record).join(" ");
    unseen = waiting().find((each) => !seen.includes(each))?.dataset.record ?? "";
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (!unseen || !event.detail.requestConfig?.elt?.matches?.("[data-accept]")) return;
    const record = document.querySelector(`#panel [data-record="${CSS.escape(unseen)}"]`);
    unseen = "";
    const row = record && (record.matches("[data-row]") ? record : record.querySelector("[data-row]"));
    if (row) ts.rows.makeCurrent(row, { focus: true });
  });

  /* --- one picker for moving a claim to another sentence ([data-move] is the address that moves it) --- */

  let address = "";

  function fillMoves(chosen) {
    address = chosen;
    const buttons = [...links(":not(.locked, [aria-current])")].map((link) => {
      const button = document.createElement("button");
      button.name = "sentence";
      button.value = new URL(link.href).searchParams.get("sentence");
      button.className = "quiet one-line";
      button.dir = "auto";
      const words = [...link.childNodes].slice(1).map((node) => node.textContent);
      button.textContent = `${parseInt(link.querySelector("sup").textContent, 10)} ${words.join("").trim()}`;
      return button;
    });
    document.querySelector("[data-moves]").replaceChildren(...buttons);
  }

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target.id === "move-claim") event.detail.path = address;
  });
})();
