/* The outbox: every change of a field goes to the browser's storage first, then to the server, and is removed from the
   storage only after the server has stored it.

   CONTRACT FOR SCREENS
   - A record: <div|article|li data-record="claim:ab12cd" data-save="/save/claim/ab12cd/"> containing an element
     id="claim-ab12cd-meta" data-version="7", which the server swaps out of band after each save.
   - A field: input, select or textarea with name and data-field="text". Radio buttons, checkboxes and selects are
     sent on change; text 600 ms after the last key, on leaving the field, and on leaving the page.
   - A save is POST data-save with field, value, version (the one seen when this change began), active_seconds.
     Each record has one request at a time, in the order in which its changes began.
       2xx            saved; the answer swaps the meta element (and what else changed) out of band
       409            changed by someone else: the answer fills #conflict from templates/components/conflict.html
       400, 422       refused: the reason is in the X-Problem header or in an element [data-problem] of the answer
       401, redirect  signed out; 403, 404, 410: no longer possible; the text stays and can be copied
       5xx, no answer within 10 s: tried again after 1, 2, 5, 10, 15, 15 ... s
     A value that the server already has is 2xx, not 409: the answer to the first attempt may have been lost.
   - A swap never overwrites unsaved text in a field. Focus and caret survive swaps.
   - Unsaved changes: touchstone.outbox.flush() -> {ok, reason}; event touchstone:outbox on document at each change.
*/
(() => {
  "use strict";
  const ts = window.touchstone;
  const { fields, store } = ts;
  const PAUSE = 600; // ms after the last key
  const BACKOFF = [1, 2, 5, 10, 15]; // seconds
  const PARALLEL = 4; // requests at once, over all records
  const UNREACHABLE = [0, 408, 502, 503, 504];
  const user = document.body.dataset.user;
  const here = () => location.pathname + location.search;

  const queues = new Map(); // record -> {entries: Map(field -> entry), sending, waiting, timer}
  const waiters = [];
  let inFlight = 0;
  let offline = false;
  let reason = ""; // why the last attempt failed
  let step = 0;
  let retryTimer = null;
  let pointerDown = false;
  let leaving = false;

  function queueOf(record) {
    if (!queues.has(record)) queues.set(record, { entries: new Map(), sending: null, waiting: false, timer: null });
    return queues.get(record);
  }

  const allEntries = () => [...queues.values()].flatMap((queue) => [...queue.entries.values()]);

  /* --- adding changes --- */

  function changed(el, pause) {
    const home = fields.recordOf(el);
    if (!user || !home) return;
    const { record } = home.dataset;
    const field = fields.nameOf(el);
    const queue = queueOf(record);
    let entry = queue.entries.get(field);
    if (!entry) {
      entry = { user, record, field, url: home.dataset.save, version: fields.version(el), unsure: [] };
      entry.key = store.key(entry);
      entry.label = fields.label(el);
      queue.entries.set(field, entry);
    }
    entry.page = here();
    entry.value = fields.shown(record, field);
    entry.at = Date.now();
    entry.due = pause ? Date.now() + PAUSE : 0;
    entry.blocked = null;
    store.put(entry);
    fields.problem(record, field, null);
    kick(queue);
    report();
  }

  const isField = (el) => el instanceof Element && el.matches("[data-record] [data-field]");
  const isText = (el) => el.tagName === "TEXTAREA" || (el.tagName === "INPUT" && !/^(radio|checkbox)$/.test(el.type));

  document.addEventListener("input", (event) => {
    if (isField(event.target) && isText(event.target)) changed(event.target, true);
  });
  document.addEventListener("change", (event) => {
    if (isField(event.target) && !isText(event.target)) changed(event.target, false);
  });
  document.addEventListener("focusout", (event) => {
    if (isField(event.target)) hurry();
  });
  document.addEventListener("visibilitychange", () => document.hidden && hurry());

  function hurry() {
    for (const entry of allEntries()) entry.due = 0;
    kickAll();
  }

  /* Nothing is sent while a mouse button or finger is down: an answer that replaced a button between press and release
     would swallow the click. */
  document.addEventListener("pointerdown", () => (pointerDown = true), true);
  for (const end of ["pointerup", "pointercancel", "dragend"]) {
    document.addEventListener(end, () => setTimeout(() => ((pointerDown = false), kickAll()), 0), true);
  }

  /* --- sending --- */

  function kickAll() {
    for (const queue of queues.values()) kick(queue);
  }

  function kick(queue) {
    clearTimeout(queue.timer);
    if (queue.sending || queue.waiting || pointerDown) return;
    const open = [...queue.entries.values()].filter((entry) => !entry.blocked);
    if (!open.length) return;
    // In order: once a later change is due, the earlier one is sent first without its pause.
    const rest = Math.min(...open.map((entry) => entry.due)) - Date.now();
    if (rest > 0) queue.timer = setTimeout(() => kick(queue), rest);
    else if (inFlight < (offline ? 1 : PARALLEL)) send(queue, open[0]);
  }

  async function send(queue, entry) {
    queue.sending = entry;
    inFlight += 1;
    entry.sent = entry.value;
    entry.unsure = [...entry.unsure.filter((value) => value !== entry.value), entry.value].slice(-5);
    store.put(entry);
    report();
    const seconds = ts.active.take();
    const answer = await ts.send(entry, seconds);
    queue.sending = null;
    inFlight -= 1;
    if (!answer.ok) ts.active.giveBack(seconds);
    if (UNREACHABLE.includes(answer.status) || answer.status === 429 || answer.status >= 500) {
      failed(queue, answer);
    } else {
      reached();
      take(queue, entry, answer);
    }
    if (!offline) kickAll();
    report();
  }

  function take(queue, entry, answer) {
    if (answer.ok) {
      const version = fields.metaVersion(entry.record) || entry.version;
      fields.setVersion(entry.record, entry.field, version);
      entry.unsure = [];
      entry.repeats = 0;
      entry.version = version;
      if (entry.value === entry.sent) forget(queue, entry);
      else store.put(entry); // changed during the save: sent again with the new version
    } else if (answer.mine) {
      // "Their" text was sent by this browser and never answered: not a conflict, continue from that version.
      entry.version = answer.mine;
      entry.repeats = (entry.repeats || 0) + 1;
      if (entry.repeats > 3) block(entry, "refused", "the server keeps reporting a conflict");
      store.put(entry);
    } else if (answer.unseen && !ts.conflict.isOpen()) {
      entry.due = 0; // the other panel has just been closed: send again at once
    } else {
      if (answer.status !== 409) entry.unsure = [];
      store.put(entry);
      block(entry, answer.kind, answer.reason, answer.href);
      if (answer.kind === "problem") fields.problem(entry.record, entry.field, answer.reason);
      if (answer.kind === "conflict") ts.conflict?.show(entry);
    }
  }

  function block(entry, kind, why, href) {
    entry.blocked = { kind, reason: why, href };
  }

  function forget(queue, entry) {
    queue.entries.delete(entry.field);
    store.drop(entry);
  }

  /* --- losing and regaining the connection --- */

  function failed(queue, answer) {
    if (queue) queue.waiting = true;
    offline = UNREACHABLE.includes(answer.status);
    const away = answer.status === 503 ? "the server is busy" : "the server cannot be reached";
    reason = offline ? away : `the server failed (error ${answer.status})`;
    if (retryTimer) return;
    retryTimer = setTimeout(retry, BACKOFF[Math.min(step, BACKOFF.length - 1)] * 1000);
    step += 1;
  }

  function reached() {
    offline = false;
    reason = "";
    step = 0;
    clearTimeout(retryTimer);
    retryTimer = null;
    for (const queue of queues.values()) queue.waiting = false;
  }

  function retry() {
    clearTimeout(retryTimer);
    retryTimer = null;
    for (const queue of queues.values()) queue.waiting = false;
    hurry();
    if (offline && !inFlight) ping();
    report();
  }

  /** Checks the connection when there is nothing to send. */
  async function ping() {
    inFlight += 1;
    try {
      const answer = await fetch(document.body.dataset.ping, { cache: "no-store", signal: AbortSignal.timeout(5000) });
      if (UNREACHABLE.includes(answer.status)) throw new Error("no");
      reached();
    } catch {
      failed(null, { status: 0 });
    }
    inFlight -= 1;
    if (!offline) kickAll();
    report();
  }

  function unreachable() {
    failed(null, { status: 0 });
    report();
  }

  window.addEventListener("online", retry);
  window.addEventListener("offline", unreachable);

  /** Sends everything that can be sent now. Resolves when no request is running or about to run. */
  function flush() {
    pointerDown = false; // the caller has already had the click
    retry();
    return new Promise((resolve) => {
      waiters.push(resolve);
      report();
    });
  }

  /* --- state for the page --- */

  function summary() {
    const entries = allEntries();
    const blocked = entries.filter((entry) => entry.blocked);
    const stuck = blocked.length > 0 || (entries.length > 0 && reason !== "");
    const why = blocked[0]?.blocked.reason || reason;
    const state = !entries.length ? "saved" : stuck ? "not-saved" : "saving";
    return { state, reason: stuck ? why : "", entries, blocked, offline, kept: store.works };
  }

  function report() {
    if (leaving) return;
    const now = summary();
    const moving = inFlight > 0 || [...queues.values()].some((q) => !q.waiting && canSend(q));
    if (!moving || offline) {
      if (inFlight === 0) {
        for (const done of waiters.splice(0)) done({ ok: !now.entries.length && !offline, reason: now.reason || reason });
      }
    }
    document.dispatchEvent(new CustomEvent("touchstone:outbox", { detail: now }));
  }

  const canSend = (queue) => [...queue.entries.values()].some((entry) => !entry.blocked);

  /** Entries of other pages, and older texts of this page's fields: listed here, never sent from here. */
  function elsewhere() {
    const mine = new Set(allEntries().map((entry) => entry.key));
    return user ? store.all(user).filter((entry) => !mine.has(entry.key) && Date.now() - entry.at > 5000) : [];
  }

  /* --- the user's choices about a blocked entry --- */

  const entryOf = (record, field) => queues.get(record)?.entries.get(field);

  function keepMine(record, field, version) {
    const entry = entryOf(record, field);
    if (!entry) return;
    entry.version = Number(version);
    entry.blocked = null;
    entry.due = 0;
    store.put(entry);
    kickAll();
    report();
  }

  function keepTheirs(record, field, version, value) {
    const entry = entryOf(record, field);
    if (entry) forget(queues.get(record), entry);
    fields.write(record, field, value);
    fields.setVersion(record, field, Number(version));
    report();
  }

  /** Retries entries that were refused or are in conflict. */
  function tryAgain(kinds) {
    for (const entry of allEntries()) if (entry.blocked && kinds.includes(entry.blocked.kind)) entry.blocked = null;
    retry();
  }

  function discard(entry) {
    if (entryOf(entry.record, entry.field)?.key === entry.key) {
      fields.problem(entry.record, entry.field, null);
      forget(queues.get(entry.record), entry);
      fields.write(entry.record, entry.field, fields.rendered(entry.record, entry.field));
    } else {
      store.drop(entry);
    }
    report();
  }

  /* --- swaps --- */

  function restore() {
    for (const entry of allEntries()) fields.write(entry.record, entry.field, entry.value);
    fields.giveFocusBack();
    // By the end of this task all out-of-band parts are swapped in, including the new version.
    queueMicrotask(fields.noteVersions);
  }

  document.addEventListener("htmx:beforeSwap", (event) => event.detail.shouldSwap && fields.hold(event.detail.target));
  document.addEventListener("htmx:oobBeforeSwap", (event) => fields.hold(event.detail.target));
  document.addEventListener("htmx:afterSwap", restore);
  document.addEventListener("htmx:oobAfterSwap", restore);

  /* --- start --- */

  function start() {
    fields.noteVersions();
    const newest = new Map();
    for (const entry of user ? store.all(user) : []) {
      const onPage = fields.find(entry.record, entry.field).length > 0;
      if (!onPage && entry.page !== here()) continue;
      const name = `${entry.record}|${entry.field}`;
      const older = newest.get(name);
      if (older && older.value === entry.value) store.drop(older);
      newest.set(name, entry);
    }
    for (const entry of newest.values()) {
      const seen = fields.metaVersion(entry.record);
      if (seen > entry.version && fields.rendered(entry.record, entry.field) === entry.value) {
        store.drop(entry); // already saved: the answer was lost, or another tab sent it
        continue;
      }
      entry.due = 0;
      queueOf(entry.record).entries.set(entry.field, entry);
    }
    // Browsers restore old values on reload. The server's value applies unless the outbox has a newer one.
    for (const el of document.querySelectorAll("[data-record] [data-field]")) {
      const { record } = fields.recordOf(el).dataset;
      if (!entryOf(record, fields.nameOf(el))) fields.write(record, fields.nameOf(el), fields.rendered(record, fields.nameOf(el)));
    }
    restore();
    kickAll();
    if (!navigator.onLine) unreachable();
    report();
  }

  window.addEventListener("storage", report);
  window.addEventListener("pagehide", () => (leaving = true));
  window.addEventListener("pageshow", (event) => {
    leaving = false;
    if (event.persisted) retry();
  });
  window.addEventListener("beforeunload", (event) => {
    if (!store.works && allEntries().length) event.preventDefault();
  });

  ts.outbox = { flush, retry, unreachable, summary, elsewhere, keepMine, keepTheirs, tryAgain, discard };
  document.addEventListener("DOMContentLoaded", start);
})();
