/* The adjudication screen: the "only differences" filter, the next open difference, and changes by others.

   While it is visible, the page polls every 1.5 s. The answer swaps changed rows out of band. A row in which the user is
   typing is not replaced: a note next to it says who changed it and shows the change on request.
   A failed choice shows its old state again. Unsent texts are counted in the foot and block the sign-off. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const STORE = "touchstone.only-differs";
  const held = new Map(); // id of a row or group -> its newer version, not shown yet
  let sender = null; // the element whose answer is being swapped in
  let opened = []; // ids of open details in the elements being swapped

  /* --- only differences; remembered for this browser session --- */

  function showOnly(on) {
    document.getElementById("rows")?.classList.toggle("only-differs", on);
    document.querySelector("[data-only-differs]")?.setAttribute("aria-pressed", String(on));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-only-differs]");
    if (!button) return;
    const on = button.getAttribute("aria-pressed") !== "true";
    showOnly(on);
    try {
      sessionStorage.setItem(STORE, on ? "yes" : "no");
    } catch {
      // storage disabled: lasts for this page only
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    let kept = null;
    try {
      kept = sessionStorage.getItem(STORE);
    } catch {
      // storage disabled: as rendered
    }
    if (kept && document.querySelector("[data-only-differs]")) showOnly(kept === "yes");
  });

  /* --- a text that was just opened gets the focus, so that typing does not trigger keys --- */

  document.addEventListener(
    "toggle",
    (event) => {
      const { target } = event;
      if (target.open && target.matches?.("#workspace details") && target.contains(document.activeElement)) {
        const box = target.querySelector("textarea, input[type=text]");
        if (box) goToText(box);
      }
    },
    true,
  );

  /* --- the next open difference --- */

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-next-open]")) return;
    event.preventDefault();
    const row = ts.rows.current();
    if (row) ts.rows.advance(row);
    else document.querySelector("[data-row][data-undecided]")?.focus();
  });

  /* --- changes by others --- */

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.id === "news" && document.hidden) event.preventDefault();
  });

  // Stop polling after a refusal (signed out, no longer allowed), so its message appears once.
  document.addEventListener("htmx:responseError", (event) => {
    if (event.target.id === "news" && event.detail.xhr.status < 500) event.target.remove();
  });

  document.addEventListener("htmx:beforeSwap", (event) => (sender = event.detail.requestConfig?.elt));

  /** Details that stay open over a swap: all except the form just sent. A discussion thread stays open. */
  const openIn = (target) =>
    [...target.querySelectorAll("details[open][id]")].filter((each) => each.matches(".thread") || !each.contains(sender)).map((each) => each.id);

  const isTyped = (el) => el.matches("textarea, select, input[type=text]");

  /** Whether the user is typing or choosing a reason inside the target. */
  function isTypedIn(target) {
    const el = document.activeElement;
    return target.contains(el) && isTyped(el);
  }

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (!target?.matches?.(".agree-row, .agree-group, #talk, #foot")) return;
    if (target.contains(sender) || !isTypedIn(target)) {
      held.delete(target.id);
      opened = opened.concat(openIn(target));
      return;
    }
    event.detail.shouldSwap = false;
    const newer = fragment.querySelector?.(`#${CSS.escape(target.id)}`) || fragment;
    held.set(target.id, newer.cloneNode(true));
    if (!target.matches("#foot")) tell(target);
  });

  /** Adds the note that says who changed a row that was not replaced. */
  function tell(target) {
    target.querySelector(".changed-note")?.remove();
    const note = document.getElementById("changed-note")?.content.firstElementChild.cloneNode(true);
    if (!note) return;
    const by = document.getElementById("seen")?.dataset.by;
    note.querySelector("span").textContent = `${by || "Someone"} changed this.`;
    (document.activeElement.closest(".difference, .thread, .agree-actions, .agree-cell") || target).after(note);
  }

  function show(id) {
    const newer = held.get(id);
    const old = document.getElementById(id);
    if (!newer || !old) return;
    held.delete(id);
    const open = openIn(old);
    newer.removeAttribute("hx-swap-oob");
    old.replaceWith(newer);
    htmx.process(newer);
    reopen(open);
    for (const name of ["htmx:oobAfterSwap", "htmx:afterSettle"]) htmx.trigger(newer, name, { target: newer });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-show-changed]");
    const owner = button?.closest(".agree-row, .agree-group, #talk");
    if (!owner) return;
    const id = held.has(owner.id) ? owner.id : owner.closest(".agree-group")?.id;
    show(id);
    document.getElementById(owner.id)?.focus({ preventScroll: true });
  });

  // After leaving a text without changes, show the held version at once.
  document.addEventListener("focusout", () => {
    setTimeout(() => {
      for (const id of [...held.keys()]) {
        const target = document.getElementById(id);
        const typed = target && [...target.querySelectorAll("textarea, input[type=text]")].some((el) => el.value !== el.defaultValue);
        if (target && !typed && !isTypedIn(target)) show(id);
      }
    }, 0);
  });

  function reopen(ids) {
    for (const id of ids) document.getElementById(id)?.setAttribute("open", "");
  }

  document.addEventListener("htmx:oobAfterSwap", () => reopen(opened));
  document.addEventListener("htmx:afterSettle", () => {
    reopen(opened);
    opened = [];
  });

  /* --- failed requests --- */

  /** Undoes a choice on the page that the server has not stored. */
  function restore(form) {
    if (!form.isConnected) return;
    form.reset();
    const group = form.querySelector("fieldset[data-key-group]");
    if (!group || form.querySelector("input:checked")) return;
    group.setAttribute("data-undecided", "");
    form.closest("[data-row]").setAttribute("data-undecided", "");
  }

  const isChoice = (el) => el.matches?.("form.settle");
  const isText = (el) => el.matches?.("#workspace form[data-draft]");

  /** Marks a text that the server has not stored. */
  function tellNotSent(form) {
    if (!form.isConnected) return;
    form.querySelector(".not-sent")?.remove();
    const note = Object.assign(document.createElement("span"), { className: "not-sent", textContent: "Not sent" });
    note.setAttribute("role", "status");
    form.querySelector("[type=submit]").after(note);
  }

  function failed(form) {
    if (isChoice(form)) restore(form);
    else if (isText(form)) tellNotSent(form);
  }

  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, ({ detail }) => failed(detail.elt));
  }
  document.addEventListener("htmx:beforeRequest", ({ detail }) => detail.elt.querySelector?.(":scope > .not-sent")?.remove());

  // While offline, requests.js holds a request back and drops it with a message if the server stays unreachable.
  document.addEventListener("htmx:confirm", (event) => {
    const form = event.detail.elt;
    if (!event.defaultPrevented || !(isChoice(form) || isText(form))) return;
    const unsentStill = () => isChoice(form) || unsent().some((el) => form.contains(el));
    const look = () => (form.hasAttribute("aria-busy") ? setTimeout(look, 100) : unsentStill() && failed(form));
    setTimeout(look, 100);
  });

  /* --- unsent texts --- */

  const boxes = () => [...document.querySelectorAll("#workspace form[data-draft] textarea")];
  const unsent = () => boxes().filter((el) => el.value.trim() && el.value !== el.defaultValue);

  function goToText(el) {
    el.focus();
    el.setSelectionRange(el.value.length, el.value.length);
  }

  // After opening details, a digit is text the user wants to type, not a choice.
  document.addEventListener(
    "keydown",
    (event) => {
      if (/^[1-9]$/.test(event.key) && event.target.closest?.("[data-row] details[open] > summary")) event.preventDefault();
    },
    true,
  );

  function showUnsent() {
    const found = unsent();
    const link = document.getElementById("unsent");
    if (!link) return;
    link.hidden = !found.length;
    link.textContent = `${found.length} text${found.length === 1 ? "" : "s"} not sent`;
    const sign = document.getElementById("sign");
    const why = document.getElementById("sign-why");
    if (!sign?.hasAttribute("hx-post") || !why) return; // disabled by the server for another reason
    const what = found.some((el) => !el.closest(".thread")) ? "A text" : "A comment";
    const words = found.length ? `${what} is not sent: send it or clear it.` : "";
    sign.toggleAttribute("aria-disabled", false);
    if (words) sign.setAttribute("aria-disabled", "true");
    sign.title = words;
    why.textContent = words;
  }

  document.addEventListener(
    "click",
    (event) => {
      if (event.target.closest("#sign[aria-disabled]")) {
        event.preventDefault();
        event.stopImmediatePropagation();
      } else if (event.target.closest("#unsent")) {
        event.preventDefault();
        const [box] = unsent();
        if (!box) return;
        for (let el = box.closest("details"); el; el = el.parentElement.closest("details")) el.open = true;
        box.closest("[popover]:not(:popover-open)")?.showPopover();
        goToText(box);
      }
    },
    true,
  );

  const NEAR = 400; // characters before the limit

  function showCount(box) {
    const left = box.maxLength - box.value.length;
    let note = box.parentElement.querySelector(".agree-count");
    if (box.maxLength < 0 || left > NEAR) {
      note?.remove();
      return;
    }
    if (!note) {
      note = Object.assign(document.createElement("p"), { className: "agree-count" });
      note.setAttribute("role", "status");
      box.after(note);
    }
    note.textContent = left > 0 ? `${left} character${left === 1 ? "" : "s"} left` : `No room left: ${box.maxLength} characters`;
  }

  document.addEventListener("input", (event) => {
    if (!event.target.matches("#workspace form[data-draft] textarea")) return;
    showCount(event.target);
    showUnsent();
  });
  for (const moment of ["DOMContentLoaded", "htmx:oobAfterSwap", "htmx:afterSettle"]) {
    document.addEventListener(moment, () => setTimeout(showUnsent, 0)); // after drafts.js has restored drafts
  }

  // The adjudicator starts at the row in question.
  document.addEventListener("DOMContentLoaded", () => {
    const row = document.querySelector("[data-begin-here]");
    if (row) ts.rows.makeCurrent(row, { focus: true });
  });

  /* --- the response beside the rows: the sentence of the current row --- */

  function markSentence() {
    const panel = document.getElementById("answer");
    const number = ts.rows.current()?.dataset.in ?? "";
    if (!panel || panel.dataset.at === number) return;
    panel.dataset.at = number;
    for (const link of panel.querySelectorAll("[data-sentence]")) {
      link.classList.toggle("here", link.dataset.sentence === number);
    }
    const [here] = panel.querySelectorAll(".here");
    if (!here || !panel.checkVisibility()) return;
    // Within the panel alone: the page does not move under the hand.
    const gap = here.getBoundingClientRect().top - panel.getBoundingClientRect().top;
    if (gap < 0 || gap > panel.clientHeight - 80) panel.scrollTop += gap - panel.clientHeight / 3;
  }
  for (const name of ["focusin", "click", "keyup", "htmx:afterSettle"]) document.addEventListener(name, markSentence);
  markSentence();
})();
