/* One save: the htmx request, and what its answer means for the outbox.

   touchstone.send(entry, seconds) -> {ok, status, kind, reason, href, mine, unseen}: kind is conflict, problem, refused or
   signed-out. Status 0 means no answer within 10 s. mine is the newest version if "their" text is one that this browser
   sent before and got no answer to. unseen is true if another conflict panel was already open. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const TIMEOUT = 10_000; // ms

  /* The source is a separate element in the body: it inherits the body's CSRF header, but no hx-confirm, hx-include or
     form from the place of the record. */
  ts.send = function send(entry, seconds) {
    const sink = document.createElement("div");
    const answer = { ok: false, status: 0 };
    sink.hidden = true;
    sink.dataset.outboxSink = "";
    document.body.append(sink);
    sink.addEventListener("htmx:configRequest", (event) => (event.detail.timeout = TIMEOUT));
    sink.addEventListener("htmx:beforeOnLoad", (event) => {
      const { xhr } = event.detail;
      Object.assign(answer, judged(xhr, entry.url));
      // Do not swap in a sign-in page, and do not leave a page with unsaved text.
      if (answer.kind === "signed-out") event.preventDefault();
    });
    sink.addEventListener("htmx:beforeSwap", (event) => {
      if (answer.status !== 409) return;
      const page = new DOMParser().parseFromString(event.detail.serverResponse, "text/html");
      const theirs = page.querySelector('[data-conflict-keep="theirs"]')?.dataset;
      if (theirs && entry.unsure.includes(theirs.conflictValue)) answer.mine = Number(theirs.version);
      // One panel at a time: this one is requested again after the open one is closed.
      answer.unseen = !answer.mine && ts.conflict?.isOpen();
      if (answer.mine || answer.unseen) event.detail.shouldSwap = false;
    });
    const values = { field: entry.field, value: entry.value, version: entry.version, active_seconds: seconds };
    return htmx
      .ajax("POST", entry.url, { source: sink, swap: "none", values })
      .catch(() => {}) // no answer: status stays 0
      .then(() => {
        sink.remove();
        return answer;
      });
  };

  function judged(xhr, url) {
    const { status } = xhr;
    const moved = xhr.responseURL && new URL(xhr.responseURL).pathname !== new URL(url, location.href).pathname;
    if (status === 401 || moved || xhr.getResponseHeader("HX-Redirect")) {
      const href = xhr.getResponseHeader("HX-Redirect") || (moved ? xhr.responseURL : "");
      return { status, kind: "signed-out", reason: "you are signed out", href };
    }
    if (status >= 200 && status < 300) return { status, ok: true };
    const panel = (xhr.responseText || "").includes("data-conflict-keep");
    if (status === 409 && panel) return { status, kind: "conflict", reason: "edit conflict: someone changed this" };
    const said = ts.reasonIn(xhr);
    if (status === 400 || status === 422) return { status, kind: "problem", reason: said || "the server refused it" };
    const known = { 403: "you may no longer change this", 404: "this is gone", 410: "this was removed" };
    return { status, kind: "refused", reason: said || known[status] || `the server answered with error ${status}` };
  }
})();
