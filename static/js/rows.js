/* Rows: what J and K walk over, one of them current.

   [data-row tabindex="-1"] elements in reading order; the current one carries data-current and aria-current and is
   where 1-4 and Enter act (keys.js). Clicking or focusing something in a row makes it current. At the last row J
   presses [data-next], at the first K presses [data-prev], where the page has them. Arrow up and down do the same
   while a row itself has the focus.
   [data-undecided] marks a row, or a fieldset in it, that still wants an answer. After a choice inside [data-advance]
   the next undecided row becomes current; when none is left the focus goes to [data-when-done].
   Event touchstone:current on the row when it becomes current.
   After a swap the row that was current stays it, by its id; an answer that wants another one marks that row, or a text
   field in it, with [data-focus]. [data-goto="id"] on a link: what is missing gets the focus, after the link's own
   hx-get where it is not on the page yet. [data-keep-scroll][id]: a panel that keeps its place over a swap and has its
   [aria-current] in sight. [data-roving]: links of which one is a tab stop; arrow keys go through them. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.checkVisibility());
  const current = () => document.querySelector("[data-row][data-current]");

  const ceiling = () => {
    const bar = document.querySelector(".bar");
    return bar && getComputedStyle(bar).position === "sticky" ? bar.getBoundingClientRect().bottom : 0;
  };
  /** Where an element's view ends: at the foot below it, not at one that stands in another column. */
  const floor = (el) => {
    const foot = document.querySelector(".foot.stuck");
    return foot?.parentElement.contains(el) ? foot.getBoundingClientRect().top : innerHeight;
  };

  function inSight(el) {
    const { top, bottom } = el.getBoundingClientRect();
    return bottom > ceiling() + 4 && top < Math.min(floor(el), innerHeight) - 4;
  }

  /** Scrolls as little as it can; scroll margins clear the bar, and the foot may be taller than they know. */
  function reveal(el) {
    el.scrollIntoView({ block: "nearest" });
    const { top, bottom } = el.getBoundingClientRect();
    const under = bottom + 8 - floor(el);
    if (floor(el) < innerHeight && under > 0) scrollBy(0, Math.min(under, Math.max(0, top - ceiling() - 8)));
  }

  function makeCurrent(row, { focus = false } = {}) {
    const before = current();
    if (before !== row) {
      for (const old of document.querySelectorAll("[data-row][data-current]")) {
        old.removeAttribute("data-current");
        old.removeAttribute("aria-current");
      }
      row.dataset.current = "";
      row.setAttribute("aria-current", "true");
    }
    if (focus) {
      if (!row.hasAttribute("tabindex")) row.tabIndex = -1;
      row.focus({ preventScroll: true });
      reveal(row);
    }
    if (before !== row) row.dispatchEvent(new CustomEvent("touchstone:current", { bubbles: true }));
  }

  function step(direction) {
    const all = rows();
    const at = all.indexOf(current());
    const next = at < 0 ? (direction > 0 ? all[0] : all.at(-1)) : all[at + direction];
    if (next) makeCurrent(next, { focus: true });
    else document.querySelector(direction > 0 ? "[data-next]" : "[data-prev]")?.click();
  }

  const wants = (el) => el.matches("[data-undecided]") || el.querySelector("[data-undecided]") !== null;

  /** Takes the mark away at once; the server's answer may put it back. */
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

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) makeCurrent(row);
  });
  document.addEventListener("click", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) makeCurrent(row);
  });

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
    const links = [...list.querySelectorAll("a[href]")];
    const next = links[links.indexOf(event.target) + way];
    event.preventDefault();
    if (!next) return;
    next.focus({ preventScroll: true });
    const panel = next.closest("[data-keep-scroll]");
    if (panel) showWithin(panel, next);
  });

  /* --- to what is missing --- */

  let goal = ""; // id of what a link leads to that is still being loaded

  function goTo(el) {
    const control = el.matches("[data-row], input, textarea, button") ? el : el.querySelector("input:checked, input, textarea, button");
    const row = el.closest("[data-row]");
    if (row) makeCurrent(row);
    (control || el).focus({ preventScroll: true });
    reveal(el);
  }

  // While the event is still on its way to the link: what is on the page need not be loaded again.
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

  /** Scrolls a panel, and nothing else, until an element in it can be seen. */
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

  // Of more tabs than the bar has room for, the current one can be seen.
  for (const tab of document.querySelectorAll(".steps-nav [aria-current]")) {
    const frame = tab.closest(".steps-nav");
    const hidden = tab.getBoundingClientRect().right - frame.getBoundingClientRect().right;
    if (hidden > 0) frame.scrollLeft += hidden + 8;
  }

  /* A swap may have replaced the current row: the same one stays current, else the one that the answer names, else its
     successor takes its place. If the focus went with it (J on the last row brings the next sentence), the current row
     gets it, so that keys and screen readers go on from there. */
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
        lost = { id: row?.id, record: row?.dataset.record, at, focused, scroll: scrollY, whole: target.id === "workspace" };
        lost.rows = new Set(rows().map((each) => each.id));
      }
    });
  }
  document.addEventListener("htmx:afterSettle", () => {
    if (panels) {
      for (const panel of kept()) if (panels.has(panel.id)) panel.scrollTop = panels.get(panel.id);
      panels = null;
      showKept();
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
    const row = named?.closest("[data-row]") || same || current() || all[Math.min(lost.at, all.length - 1)];
    const free = lost.focused && document.activeElement === document.body;
    named?.removeAttribute("data-focus");
    if (!row) return;
    makeCurrent(row, { focus: free && (!named || named === row) });
    if (!named) return;
    if (named !== row) named.focus({ preventScroll: true });
    reveal(row);
  }

  /** The page keeps its place; but where other rows came, they are read from the top of their panel. */
  function arrive(stayed) {
    if (scrollY !== lost.scroll) scrollTo(0, lost.scroll);
    const panel = document.getElementById("panel");
    if (stayed || !panel) return;
    const { top } = panel.getBoundingClientRect();
    if (top < ceiling() || top > innerHeight / 3) panel.scrollIntoView({ block: "start" });
  }

  document.addEventListener("DOMContentLoaded", showKept);
  // The answer as a sheet over the page, on a phone: it opens where one is.
  document.addEventListener("toggle", (event) => event.target.matches?.("[data-keep-scroll][popover]") && showKept(), true);

  ts.rows = { makeCurrent, step, advance, current, inSight, reveal, showWithin };
})();
