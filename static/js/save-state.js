/* What the page shows about saving: the indicator in the bar, the banner, the list of unsaved changes, and the conflict
   panel. It displays the state of the outbox and passes the user's choices on to it. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const byId = (id) => document.getElementById(id);
  let before = "saved";

  function make(tag, className, text) {
    const el = document.createElement(tag);
    if (className) el.className = className;
    if (text) el.textContent = text;
    return el;
  }

  function button(text, act) {
    const el = make("button", "quiet", text);
    el.type = "button";
    el.addEventListener("click", act);
    return el;
  }

  /* --- indicator and banner --- */

  function draw({ state, reason, entries, blocked, offline, kept }) {
    const mark = byId("save-state");
    if (!mark) return;
    const others = ts.outbox.elsewhere();
    mark.hidden = !entries.length && !others.length && !document.querySelector("[data-record]");
    mark.dataset.state = state;
    const words = { saved: "Saved", saving: "Saving", "not-saved": "Not saved" };
    mark.querySelector(".save-word").textContent = words[state];
    const why = mark.querySelector(".save-why"); // truncated in a narrow bar; the title has the full text
    why.textContent = why.title = state === "not-saved" ? reason : "";
    mark.querySelector("[data-retry]").hidden = state !== "not-saved" || blocked.length === entries.length;
    const list = mark.querySelector("[data-unsaved]");
    list.hidden = !blocked.length && !others.length;
    const n = others.length;
    list.textContent = blocked.length ? "Show" : n === 1 ? "1 change from another page is waiting" : `${n} changes from other pages are waiting`;
    // Announce only a failed save, and the recovery from it.
    const say = mark.querySelector("[data-announce]");
    if (state === "not-saved" && before !== "not-saved") say.textContent = `Not saved: ${reason}.`;
    if (state === "saved" && before === "not-saved") say.textContent = "Saved.";
    if (state !== "saving") before = state;

    const banner = byId("offline-banner");
    banner.hidden = !offline;
    banner.querySelector("[data-kept]").hidden = !kept;
    banner.querySelector("[data-not-kept]").hidden = kept;
    if (byId("unsaved").open) fillList();
  }

  document.addEventListener("touchstone:outbox", (event) => draw(event.detail));

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-retry]")) ts.outbox.retry();
    if (event.target.closest("[data-unsaved]")) {
      fillList();
      byId("unsaved").showModal();
    }
  });

  /* --- the list of unsaved changes --- */

  async function copy(text, el) {
    try {
      await navigator.clipboard.writeText(text);
      el.textContent = "Copied";
    } catch {
      // The clipboard API needs HTTPS: select the text instead.
      getSelection().selectAllChildren(el.closest(".claim").querySelector(".said"));
      el.textContent = "Selected: press Ctrl+C";
    }
  }

  function row(entry, why) {
    const item = make("li", "claim");
    const head = make("div", "row between");
    head.append(make("b", "small", entry.label || entry.field), make("span", "problem", why));
    const text = make("p", "said", entry.value);
    text.dir = "auto";
    const acts = make("div", "row");
    acts.append(button("Copy my text", (event) => copy(entry.value, event.target)));
    if (entry.blocked?.kind === "conflict") {
      acts.append(button("Show both texts", () => (byId("unsaved").close(), ts.outbox.tryAgain(["conflict"]))));
    } else if (entry.blocked?.kind === "signed-out") {
      const link = make("a", "quiet", "Sign in again");
      link.href = entry.blocked.href || location.href;
      link.dataset.anyway = "";
      acts.append(link);
    } else if (entry.blocked) {
      acts.append(button("Try again", () => ts.outbox.tryAgain([entry.blocked.kind])));
    } else if (entry.page) {
      const link = make("a", "quiet", "Open its page to save it");
      link.href = entry.page;
      acts.append(link);
    }
    acts.append(button("Discard", () => (ts.outbox.discard(entry), fillList())));
    item.append(head, text, acts);
    return item;
  }

  function fillList() {
    const { blocked } = ts.outbox.summary();
    const rows = blocked.map((entry) => row(entry, entry.blocked.reason));
    rows.push(...ts.outbox.elsewhere().map((entry) => row(entry, "typed on another page")));
    byId("unsaved").querySelector("ul").replaceChildren(...rows);
    if (!rows.length) byId("unsaved").close();
  }

  /* --- conflict --- */

  const dialog = () => byId("conflict-dialog");

  ts.conflict = {
    isOpen: () => dialog().open,
    show() {
      if (dialog().open || !byId("conflict").childElementCount) return;
      byId("unsaved").close();
      dialog().showModal();
      dialog().querySelector("h2")?.focus();
    },
  };

  document.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-conflict-keep]");
    if (!chosen) return;
    const { record, field, version, conflictKeep, conflictValue } = chosen.dataset;
    if (conflictKeep === "theirs") ts.outbox.keepTheirs(record, field, version, conflictValue);
    else ts.outbox.keepMine(record, field, version);
    dialog().close();
    byId("conflict").replaceChildren();
    ts.outbox.tryAgain(["conflict"]); // another conflict may be waiting
  });

  document.addEventListener("DOMContentLoaded", () => {
    // Closed with Escape: the conflict stays in the list. The event is late, so the next panel may be open already.
    dialog()?.addEventListener("close", () => dialog().open || byId("conflict").replaceChildren());
  });
})();
