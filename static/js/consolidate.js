/* The consolidation screen: only what differs, the next open difference, and changes of others that come in.

   The page asks every 1.5 s what is new, while it can be seen. The answer swaps the rows that changed out of band. A row
   in which somebody is typing stays: a note beside it says who changed it, and shows the change when asked to.
   What a decision could not do shows as it was. A text that was typed and not sent is counted in the foot, and nobody
   signs over it. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const STORE = "touchstone.only-differs";
  const held = new Map(); // id of a row or group -> the newer one that waits
  let sender = null; // whose answer is being swapped in
  let opened = []; // ids of what was open in what is swapped

  /* --- only what differs, remembered for this browser session --- */

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
      // for this page only, then
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    let kept = null;
    try {
      kept = sessionStorage.getItem(STORE);
    } catch {
      // as the server says
    }
    if (kept && document.querySelector("[data-only-differs]")) showOnly(kept === "yes");
  });

  /* --- what a person opens to write in takes the caret, so that what they type is text and no key --- */

  document.addEventListener(
    "toggle",
    (event) => {
      const { target } = event;
      if (target.open && target.matches?.("#workspace details") && target.contains(document.activeElement)) {
        const box = target.querySelector("textarea, input[type=text]");
        box?.focus();
        box?.setSelectionRange(box.value.length, box.value.length);
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

  /* --- what comes in --- */

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.id === "news" && document.hidden) event.preventDefault();
  });

  // Who may not ask any more, or signed out, is told once.
  document.addEventListener("htmx:responseError", (event) => {
    if (event.target.id === "news" && event.detail.xhr.status < 500) event.target.remove();
  });

  document.addEventListener("htmx:beforeSwap", (event) => (sender = event.detail.requestConfig?.elt));

  /** What stays open over a swap: all but the form that was just sent; a thread goes on. */
  const openIn = (target) =>
    [...target.querySelectorAll("details[open][id]")].filter((each) => each.matches(".thread") || !each.contains(sender)).map((each) => each.id);

  const isTyped = (el) => el.matches("textarea, select, input[type=text]");

  /** Somebody is at work on a text or a list of reasons in there. */
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

  /** Beside a row that stays as it is for now: who has changed it. */
  function tell(target) {
    target.querySelector(".changed-note")?.remove();
    const note = document.getElementById("changed-note")?.content.firstElementChild.cloneNode(true);
    if (!note) return;
    const by = document.getElementById("seen")?.dataset.by;
    note.querySelector("span").textContent = `${by || "Somebody"} has changed this.`;
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

  // Who has left the text untouched sees the change at once.
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

  /* --- what could not be done --- */

  /** A choice that the server does not have is not shown as one. */
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

  /** Beside a text that the server does not have. */
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

  // Without a connection requests.js holds a request back, and gives it up with a word where the server stays away.
  document.addEventListener("htmx:confirm", (event) => {
    const form = event.detail.elt;
    if (!event.defaultPrevented || !(isChoice(form) || isText(form))) return;
    const unsentStill = () => isChoice(form) || unsent().some((el) => form.contains(el));
    const look = () => (form.hasAttribute("aria-busy") ? setTimeout(look, 100) : unsentStill() && failed(form));
    setTimeout(look, 100);
  });

  /* --- texts: the caret goes where one writes, and what is not sent is not forgotten --- */

  const boxes = () => [...document.querySelectorAll("#workspace form[data-draft] textarea")];
  const unsent = () => boxes().filter((el) => el.value.trim() && el.value !== el.defaultValue);

  function goToText(el) {
    el.focus();
    el.setSelectionRange(el.value.length, el.value.length);
  }

  // Who has just opened something means to write, not to decide.
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
    if (!sign?.hasAttribute("hx-post") || !why) return; // closed anyway, for a reason of the server's
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
    document.addEventListener(moment, () => setTimeout(showUnsent, 0)); // after drafts.js has brought back what it has
  }

  // The third rater begins at what was asked.
  document.addEventListener("DOMContentLoaded", () => {
    const row = document.querySelector("[data-begin-here]");
    if (row) ts.rows.makeCurrent(row, { focus: true });
  });
})();
