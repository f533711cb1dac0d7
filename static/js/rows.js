/* Rows: J and K move through them, and one of them is current.

   [data-row tabindex="-1"] elements in reading order. The current row has data-current and aria-current; 1-9 and Enter
   act on it (keys.js). Clicking or focusing anything in a row makes it current. J at the last row clicks [data-next],
   K at the first clicks [data-prev], if the page has them. The up and down arrows do the same while a row itself has
   the focus.
   A page with a [data-key="j"] or "k" of its own (verify: the next and previous claim) keeps the arrows for its rows.
   [data-undecided] marks a row, or a fieldset in it, that still needs an answer. After a choice inside [data-advance],
   the next undecided row becomes current; if none is left, the focus goes to [data-when-done].
   A row with [data-follows] takes the answer of another one: moving on passes it.
   After a swap, the current row stays current by its id. To choose another row, the answer marks it, or a text field in
   it, with [data-focus]. [data-goto="id"] on a link focuses the missing answer, after the link's own hx-get if the
   answer is not on the page yet. [data-keep-scroll][id] is a panel that keeps its scroll position over a swap and shows
   its [aria-current]. [data-roving] holds links that are one tab stop; arrow keys move through them.

   Not idiomorph 0.8: a trial saved 56 lines in five files, but lost presses on buttons that moved and the focus after
   some swaps; the fixes would use up the gain, and the library weighs 10 KB. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.checkVisibility());
  const current = () => document.querySelector("[data-row][data-current]");

  /** The lower edge of what is pinned above the rows: the bar, verify's claim, adjudication's response in a small window. */
  const ceiling = () => {
    const isOver = (each) => getComputedStyle(each).position === "sticky" && (!each.matches(".stick") || each.offsetWidth > innerWidth / 2);
    const pinned = [...document.querySelectorAll(".bar, .claim-head, .beside > .stick")].filter(isOver);
    return Math.max(0, ...pinned.map((each) => each.getBoundingClientRect().bottom));
  };
  /** The lower edge of an element's view: the foot of its own column, or what is pinned below it in a small window. */
  const floor = (el) => {
    const isBelow = (each) => !each.contains(el) && (each.matches(".foot") ? each.parentElement.contains(el) : getComputedStyle(each).bottom === "0px");
    const pinned = [...document.querySelectorAll(".foot.stuck, .verify .judgement")].filter(isBelow);
    return Math.min(innerHeight, ...pinned.map((each) => each.getBoundingClientRect().top));
  };

  function inSight(el) {
    const { top, bottom } = el.getBoundingClientRect();
    return bottom > ceiling() + 4 && top < Math.min(floor(el), innerHeight) - 4;
  }

  /** Scrolls as little as possible. Scroll margins clear the bar, but the foot may be taller than they allow for. */
  function reveal(el) {
    el.scrollIntoView({ block: "nearest" });
    const { top, bottom } = el.getBoundingClientRect();
    const under = bottom + 8 - floor(el);
    if (floor(el) < innerHeight && under > 0) scrollBy(0, Math.min(under, Math.max(0, top - ceiling() - 8)));
  }

  function makeCurrent(row, { focus = false } = {}) {
    if (current() !== row) {
      for (const old of document.querySelectorAll("[data-row][data-current]")) {
        old.removeAttribute("data-current");
        old.removeAttribute("aria-current");
      }
      row.dataset.current = "";
      row.setAttribute("aria-current", "true");
    }
    if (focus) {
      row.focus({ preventScroll: true });
      reveal(row);
    }
  }

  function step(direction) {
    const all = rows();
    const at = all.indexOf(current());
    const next = at < 0 ? (direction > 0 ? all[0] : all.at(-1)) : all[at + direction];
    if (next) makeCurrent(next, { focus: true });
    else document.querySelector(direction > 0 ? "[data-next]" : "[data-prev]")?.click();
  }

  const wants = (el) => !("follows" in el.dataset) && (el.matches("[data-undecided]") || el.querySelector("[data-undecided]") !== null);

  /** Removes the mark at once; the server's answer may restore it. */
  function settle(input, row) {
    input.closest("fieldset[data-undecided]")?.removeAttribute("data-undecided");
    const groups = [...row.querySelectorAll("fieldset")].filter((group) => group.checkVisibility() && group.querySelector("[type=radio]"));
    if (groups.every((group) => group.querySelector("input:checked"))) row.removeAttribute("data-undecided");
  }

  function advance(row) {
    const all = rows();
    const at = all.indexOf(row);
    const next = [...all.slice(at + 1), ...all.slice(0, at)].find(wants);
    if (next) makeCurrent(next, { focus: true });
    else document.querySelector("[data-when-done]")?.focus();
  }

  document.addEventListener("change", (event) => {
    const row = event.target.closest("[data-row]");
    if (!row || !event.target.closest("[data-advance]") || event.target.type !== "radio") return;
    settle(event.target, row);
    if (!wants(row)) advance(row);
  });

  for (const cause of ["focusin", "click"]) {
    document.addEventListener(cause, (event) => {
      const row = event.target.closest("[data-row]");
      if (row && !event.target.closest("[data-row] .foot")) makeCurrent(row); // the foot is about the whole claim
    });
  }

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || ts.keys.isOff() || ts.keys.typing(event.target) || document.querySelector("dialog[open]")) return;
    const key = ts.keys.pressed(event);
    const onRow = event.target.matches("[data-row]");
    const direction = { [ts.keys.mapped("j")]: 1, [ts.keys.mapped("k")]: -1, ...(onRow && { ArrowDown: 1, ArrowUp: -1 }) }[key];
    if (!direction || !rows().length) return;
    event.preventDefault();
    step(direction);
  });

  document.addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const list = way && event.target.closest?.("[data-roving]");
    if (!list || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const links = [...list.querySelectorAll("a[href]:not(.rest)")];
    const next = links[links.indexOf(event.target) + way];
    event.preventDefault();
    if (!next) return;
    next.focus({ preventScroll: true });
    const panel = next.closest("[data-keep-scroll]");
    if (panel) showWithin(panel, next);
  });

  /* --- links to missing answers --- */

  let goal = ""; // id of a link's target that is still loading

  function goTo(el) {
    const control = el.matches("[data-row], input, textarea, button") ? el : el.querySelector("input:checked, input, textarea, button");
    const row = el.closest("[data-row]");
    if (row) makeCurrent(row);
    (control || el).focus({ preventScroll: true });
    reveal(el);
  }

  // In the capture phase, before htmx: a target that is on the page need not be loaded again.
  document.addEventListener(
    "click",
    (event) => {
      const link = event.target.closest?.("[data-goto]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const el = document.getElementById(link.dataset.goto);
      goal = el ? "" : link.dataset.goto;
      if (!el) return;
      event.preventDefault();
      event.stopPropagation();
      goTo(el);
    },
    true,
  );

  /* --- over a swap --- */

  /** Scrolls a panel, and nothing else, until an element in it is visible. */
  function showWithin(panel, el) {
    const frame = panel.getBoundingClientRect();
    const { top, bottom } = el.getBoundingClientRect();
    if (top < frame.top + 8) panel.scrollTop -= frame.top + 8 - top;
    else if (bottom > frame.bottom - 8) panel.scrollTop += Math.min(bottom - frame.bottom + 8, top - frame.top - 8);
  }

  const kept = () => document.querySelectorAll("[data-keep-scroll][id]");
  function showKept() {
    for (const panel of kept()) {
      const el = panel.querySelector("[aria-current]");
      if (el) showWithin(panel, el);
    }
  }

  // If the bar has more tabs than fit, scroll to the current one.
  for (const tab of document.querySelectorAll(".steps-nav [aria-current]")) {
    const frame = tab.closest(".steps-nav");
    const hidden = tab.getBoundingClientRect().right - frame.getBoundingClientRect().right;
    if (hidden > 0) frame.scrollLeft += hidden + 8;
  }

  /* A swap may replace the current row. The row the answer names becomes current, else the same row, else the row now in
     its place. If the focus was lost too (J on the last row loads the next sentence), the current row gets it, so keys
     and screen readers continue from there. */
  let lost = null;
  let panels = null; // id -> scrollTop
  for (const before of ["htmx:beforeSwap", "htmx:oobBeforeSwap"]) {
    document.addEventListener(before, (event) => {
      const { target, shouldSwap } = event.detail;
      if (!shouldSwap || !target?.contains) return;
      panels ??= new Map([...kept()].map((panel) => [panel.id, panel.scrollTop]));
      if (lost) return;
      const row = current();
      const focused = document.activeElement !== document.body && target.contains(document.activeElement);
      if (focused || (row && target.contains(row))) {
        const at = row ? rows().indexOf(row) : 0;
        // Undo in verify's panel, and moving to another claim, continue at the first open passage.
        const anew = Boolean(event.detail.requestConfig?.elt?.closest("[data-row] .foot"));
        lost = { id: row?.id, record: row?.dataset.record, at, anew, focused, scroll: scrollY, whole: ["workspace", "panel"].includes(target.id) };
        lost.rows = new Set(rows().map((each) => each.id));
      }
    });
  }
  document.addEventListener("htmx:afterSettle", () => {
    if (panels) {
      const held = panels;
      const put = () => {
        for (const panel of kept()) if (held.has(panel.id)) panel.scrollTop = held.get(panel.id);
        showKept();
      };
      panels = null;
      put();
      // Again after diff.js has drawn in the next frame: until then a panel may be shorter.
      requestAnimationFrame(() => requestAnimationFrame(put));
    }
    settleRows();
    lost = null;
    const el = goal && document.getElementById(goal);
    if (!el) return;
    goal = "";
    goTo(el);
  });

  function settleRows() {
    const named = document.querySelector("[data-focus]");
    if (!lost && named) lost = { focused: true, at: 0, rows: new Set(), scroll: scrollY };
    if (!lost) return;
    const all = rows();
    const stayed = all.some((row) => lost.rows.has(row.id));
    if (lost.whole) arrive(stayed);
    const same = all.find((row) => (lost.id && row.id === lost.id) || (lost.record && row.dataset.record === lost.record));
    const open = lost.anew && all.find(wants);
    const row = named?.closest("[data-row]") || open || same || current() || all[Math.min(lost.at, all.length - 1)];
    const free = lost.focused && document.activeElement === document.body;
    named?.removeAttribute("data-focus");
    if (!row) return;
    makeCurrent(row, { focus: (free || Boolean(open)) && (!named || named === row) });
    if (!named && !open) return;
    if (named && named !== row) named.focus({ preventScroll: true });
    reveal(row);
  }

  /** Keeps the page's scroll position, but shows new rows from the top of their panel. */
  function arrive(stayed) {
    if (scrollY !== lost.scroll) scrollTo(0, lost.scroll);
    const panel = document.getElementById("panel");
    if (stayed || !panel) return;
    const { top } = panel.getBoundingClientRect();
    if (top < ceiling() || top > innerHeight / 3) panel.scrollIntoView({ block: "start" });
  }

  document.addEventListener("DOMContentLoaded", showKept);
  // The response shows the current sentence: as a sheet over the page, and above the work once the guidelines are open.
  document.addEventListener("toggle", (event) => event.target.matches?.("[data-keep-scroll][popover], .guide-sheet") && showKept(), true);

  ts.rows = { makeCurrent, advance, current, ceiling, floor, inSight, reveal };
})();
