/* The verify screen: which passages have been in view, where the focus goes, the correction, and forms under buttons.

   A save triggers touchstone:claim-complete (this was the claim's last answer: the next open claim is opened through
   [data-next-open]), touchstone:claim-false (the edit comes next: the corrected claim gets the focus) or
   touchstone:claim-undecided (the next question is whether the evidence is sufficient).
   [data-several] (keys 0 and A, a verdict with Shift) sends the open passages that match it and have been in view, and
   goes on to the first that has not. Every request that changes something says which passages have been in view since
   the last one (in-view.js).
   [data-whole] shows a whole passage instead of its excerpt. [data-correct] is the form of the corrected claim.
   [data-fold] closes a form under a button and discards its draft (drafts.js). */
(() => {
  "use strict";
  const ts = window.touchstone;
  const cards = () => [...document.querySelectorAll("article.ev[data-record]")];
  const opened = () => document.querySelector(".judgement")?.dataset.claim || "";
  const isBusy = () => ts.keys.typing(document.activeElement);
  const isCorrecting = () => document.activeElement?.closest("[data-correct]") !== null;
  let shown = "";

  /* --- what has been in view --- */

  const reported = new Set(); // the stances in view that the server knows of
  const idOf = (card) => card.dataset.record.split(":")[1];
  const ids = (some) => some.map(idOf).join(" ");

  document.addEventListener("htmx:configRequest", (event) => {
    const { verb, parameters } = event.detail;
    if (verb === "get" || !cards().length) return;
    const news = ts.inView.among(cards()).filter((card) => !reported.has(idOf(card)));
    if (news.length) parameters.in_view = ids(news);
    const several = event.target.dataset.several;
    if (several === undefined) return;
    parameters.stances = ids(ts.inView.among(openCards(several)));
    parameters.version = ts.fields.metaVersion(document.querySelector(".judgement").dataset.record);
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const sent = detail.requestConfig?.parameters?.in_view;
    if (sent && detail.successful) for (const id of sent.split(" ")) reported.add(id);
  });

  /* --- several at once: 0, A, and a verdict with Shift --- */

  /** The cards that wait for a stance and match, where one is asked of them. */
  const openCards = (which = "") =>
    cards().filter((card) => !("follows" in card.dataset) && card.querySelector("[data-undecided][data-advance]") && (!which || card.matches(which)));

  // Nothing to send: go on to a passage that has not been in view.
  document.addEventListener("htmx:confirm", (event) => {
    const several = event.target.dataset?.several;
    if (several === undefined) return;
    const open = openCards(several);
    if (ts.inView.among(open).length) return;
    event.preventDefault();
    if (open.length) ts.rows.makeCurrent(open[0], { focus: true });
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const several = event.detail.requestConfig?.elt?.dataset?.several;
    if (several === undefined) return;
    const [first] = [...openCards(several), ...openCards()];
    if (first) ts.rows.makeCurrent(first, { focus: true });
    else document.querySelector("[data-when-done]")?.focus({ preventScroll: true });
  });

  /* --- the whole passage, and finding words in the evidence --- */

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-whole]");
    if (button) showWhole(button, button.getAttribute("aria-expanded") !== "true");
  });

  function showWhole(button, on) {
    button.setAttribute("aria-expanded", String(on));
    button.closest("article").classList.toggle("is-whole", on);
  }

  let at = 0; // the match that Enter went to last

  /** The places in a node's text where the words stand, as ranges. */
  function placesOf(node, wanted) {
    const text = node.textContent.toLowerCase();
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    const parts = [];
    for (let part = walker.nextNode(), start = 0; part; start += part.length, part = walker.nextNode()) parts.push([start, part]);
    const point = (offset) => {
      const [start, part] = parts.findLast(([begin]) => begin <= offset);
      return [part, Math.min(offset - start, part.length)];
    };
    const found = [];
    for (let from = text.indexOf(wanted); from >= 0; from = text.indexOf(wanted, from + wanted.length)) {
      const range = document.createRange();
      range.setStart(...point(from));
      range.setEnd(...point(from + wanted.length));
      found.push(range);
    }
    return found;
  }

  /** Marks the words in the passages; a passage whose excerpt leaves them out is shown whole. */
  function find(input) {
    const wanted = input.value.trim().toLowerCase();
    CSS.highlights?.delete("found-words");
    const said = document.getElementById("found");
    said.textContent = "";
    if (!wanted) return [];
    for (const button of document.querySelectorAll(`${input.dataset.find} [data-whole]`)) {
      const article = button.closest("article");
      const within = (selector) => article.querySelector(selector)?.textContent.toLowerCase().includes(wanted);
      if (within(".whole") && !within(".excerpt")) showWhole(button, true);
    }
    const ranges = [...document.querySelectorAll(`${input.dataset.find} .passage`)]
      .filter((passage) => passage.checkVisibility())
      .flatMap((passage) => placesOf(passage, wanted));
    if (ranges.length && CSS.highlights) CSS.highlights.set("found-words", new Highlight(...ranges));
    said.textContent = ranges.length ? `${ranges.length} found` : "Not found";
    return ranges;
  }

  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-find]")) return;
    at = -1;
    const [first] = find(event.target);
    if (first) ts.rows.reveal(first.startContainer.parentElement.closest("article"));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("[data-find]")) return;
    event.preventDefault();
    const ranges = find(event.target);
    if (!ranges.length) return;
    at = (at + 1) % ranges.length;
    ts.rows.reveal(ranges[at].startContainer.parentElement.closest("article"));
  });

  /* --- evidence of one's own: an address that was pasted with the passage goes into its own field --- */

  document.addEventListener("input", ({ target }) => {
    const address = target.dataset?.takesAddress && document.querySelector(target.dataset.takesAddress);
    if (!address || address.value) return;
    const found = target.value.match(/^\s*(https?:\/\/\S+)\s+|\s+(https?:\/\/\S+)\s*$|^\s*(https?:\/\/\S+)\s*$/);
    // While an address is being typed it isn't known where it ends: a pasted one is whole.
    if (!found || target.value.length - (target.dataset.length ?? 0) < 8) {
      target.dataset.length = target.value.length;
      return;
    }
    address.value = found[1] || found[2] || found[3];
    target.value = target.value.replace(found[0], "").trim();
    target.dataset.length = target.value.length;
    address.dispatchEvent(new Event("input", { bubbles: true })); // for drafts.js
  });

  // A long passage pushes the buttons below the window otherwise.
  document.addEventListener("input", ({ target }) => {
    const form = target.closest?.("#add-evidence form");
    if (form && form.getBoundingClientRect().bottom > ts.rows.floor(form)) ts.rows.reveal(form);
  });

  /* --- the corrected claim: its edits are shown while it is typed; Enter saves --- */

  document.addEventListener("keydown", (event) => {
    const form = event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.closest("[data-correct]");
    if (!form || !event.target.matches("textarea")) return;
    event.preventDefault();
    form.requestSubmit();
  });

  // With the edit saved, what the claim still lacks comes next.
  document.addEventListener("htmx:afterSettle", (event) => {
    const isSaved = event.target.id === "workspace" && event.detail.requestConfig?.elt?.matches("[data-correct]");
    if (isSaved) document.querySelector(".lacks [data-goto]")?.click();
  });

  for (const cause of ["input", "touchstone:written"]) {
    document.addEventListener(cause, (event) => {
      const form = event.target.closest?.("[data-correct]");
      if (form) drawEdits(form.querySelector("[data-edits-of]"));
    });
  }

  function drawEdits(list) {
    const { value } = document.querySelector(list.dataset.editsOf);
    list.replaceChildren(...editsOf(list.dataset.editsBase, value).map(operation));
  }

  /** The edits that lead from the claim to what was typed, about as the server derives them. */
  function editsOf(base, text) {
    if (text === base) return [];
    if (!text.trim()) return [["Delete claim", "", ""]];
    const runs = ts.diff(base, text);
    const found = [];
    runs.forEach(([kind, words], i) => {
      const next = runs[i + 1]?.[0] === "ins" ? runs[i + 1][1].trim() : "";
      if (kind === "del") found.push(next ? ["Replace", words.trim(), next] : ["Delete", words.trim(), ""]);
      // There is no insertion among the edits: new words stand beside a neighbor.
      if (kind !== "ins" || runs[i - 1]?.[0] === "del") return;
      const neighbor = (runs[i - 1]?.[1] || runs[i + 1]?.[1] || "").trim().split(/\s+/).at(i ? -1 : 0);
      found.push(["Replace", neighbor, i ? `${neighbor} ${words.trim()}` : `${words.trim()} ${neighbor}`]);
    });
    return found;
  }

  function operation([label, before, after]) {
    const row = document.createElement("div");
    row.className = "op";
    const add = (parent, tag, text) => parent.appendChild(Object.assign(document.createElement(tag), { textContent: text }));
    add(row, "span", label);
    const words = add(row, "span", "");
    words.className = "x";
    words.dir = "auto";
    if (before) add(words, "del", before);
    if (after) words.append(" → ");
    if (after) add(words, "ins", after);
    return row;
  }

  /* --- from claim to claim --- */

  document.addEventListener("touchstone:claim-complete", (event) => {
    if (event.detail.claim !== opened() || (isBusy() && !isCorrecting())) return;
    const next = document.querySelector("[data-next-open]");
    if (next) next.click();
    else document.querySelector('[data-key="Control+Enter"]')?.focus({ preventScroll: true });
  });

  document.addEventListener("touchstone:claim-false", (event) => {
    if (event.detail.claim !== opened() || isBusy()) return;
    const text = document.getElementById("rewrite-text");
    if (!text) return;
    text.focus({ preventScroll: true });
    text.setSelectionRange(text.value.length, text.value.length);
    text.scrollIntoView({ block: "nearest" });
  });

  document.addEventListener("touchstone:claim-undecided", (event) => {
    if (event.detail.claim !== opened() || isBusy()) return;
    const first = document.querySelector('.judgement input[data-field="evidence_sufficient"]');
    first?.focus({ preventScroll: true });
    first?.closest("fieldset").scrollIntoView({ block: "nearest" });
  });

  /** After the workspace was replaced: a lost focus goes to the current row, and another claim starts at its top. */
  function arrive(event) {
    if (event.target.id !== "workspace") return;
    const another = opened() !== shown;
    shown = opened();
    if (another) {
      document.querySelector(".claims-nav [aria-current]")?.scrollIntoView({ block: "nearest" });
      scrollTo(0, 0);
    }
    const row = document.querySelector("[data-row][data-current]");
    if (!row || document.activeElement !== document.body) return;
    row.focus({ preventScroll: true });
    if (!another) row.scrollIntoView({ block: "nearest" });
  }

  /* --- forms under buttons --- */

  document.addEventListener("change", (event) => {
    const { dataset, value } = event.target;
    // Someone who searched may want to add evidence: open the form, but leave the focus.
    if (dataset.field === "evidence_sufficient" && value === "no") document.getElementById("add-evidence")?.setAttribute("open", "");
  });

  document.addEventListener("click", (event) => {
    const fold = event.target.closest("[data-fold]");
    if (fold) {
      const details = document.querySelector(fold.dataset.fold);
      details.open = false;
      details.querySelector("summary").focus();
      for (const form of details.querySelectorAll("form[data-draft]")) {
        form.reset();
        form.dispatchEvent(new CustomEvent("touchstone:emptied", { bubbles: true })); // for drafts.js
      }
      return;
    }
    const summary = event.target.closest("summary");
    // The details element opens after this event.
    if (summary) setTimeout(() => summary.parentElement.open && enter(summary.parentElement), 0);
  });

  /** Brings an opened form into view and focuses its first field. */
  function enter(details) {
    if (details.matches(".held")) details.scrollIntoView({ block: "nearest" }); // opened by its key, it may be out of view
    const field = details.querySelector("input:not([type=hidden], [type=radio], [type=checkbox]), textarea");
    if (!field) return;
    details.scrollIntoView({ block: "nearest" });
    field.focus({ preventScroll: true });
  }

  /* --- a failed choice shows its old state again --- */

  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, ({ detail }) => {
      if (detail.elt.matches?.(".chip input")) detail.elt.checked = detail.elt.defaultChecked;
    });
  }

  document.addEventListener("DOMContentLoaded", () => (shown = opened()));
  document.addEventListener("htmx:afterSettle", arrive);
})();
