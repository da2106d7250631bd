// Keeps a page as the server sees it, sends what a person says, and remembers nothing. The server
// sends regions by their ids; a morph leaves alone what is open, focused, selected and typed.
"use strict";
(() => {
  const main = document.getElementById("main");
  const link = document.getElementById("link");
  const outcome = document.getElementById("outcome");
  const AT_END = 120; // Pixels from the end of a page within which a reader follows it.
  const SILENCE = 40_000; // A server says that it lives every 15 seconds.
  let ahead = Number(main.dataset.now) - Date.now(); // The server's clock, against this one's.

  // ---- Times that pass ----
  const rough = (seconds) => {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    if (s < 86400) return `${Math.floor(s / 3600)} h`;
    return `${Math.floor(s / 86400)} d`;
  };
  const tick = () => {
    const now = Date.now() + ahead;
    for (const time of document.querySelectorAll("time[data-since]")) {
      const text = `${rough((now - Number(time.dataset.since)) / 1000)} ago`;
      const said = time.closest(".session") ? text : text.replace(" ago", "");
      if (time.textContent !== said) time.textContent = said;
    }
  };
  setInterval(tick, 1000);

  // ---- Changes ----
  const morphing = {
    ignoreActiveValue: true,
    callbacks: {
      // What a person opened or closed stays so.
      beforeAttributeUpdated: (name, element) => !(name === "open" && element.localName === "details"),
    },
  };
  const parse = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  };
  const changes = {
    fill: ({ id, html }) => {
      const element = document.getElementById(id);
      if (element) Idiomorph.morph(element, parse(html).childNodes, { ...morphing, morphStyle: "innerHTML" });
    },
    item: ({ list, after, id, html }) => {
      const parent = document.getElementById(list);
      const next = parse(html).firstElementChild;
      if (!parent || !next) return;
      let element = document.getElementById(id);
      if (element) {
        Idiomorph.morph(element, next, { ...morphing, morphStyle: "outerHTML" });
        return;
      }
      const before = after === null ? null : document.getElementById(after);
      if (before && before.parentNode === parent) before.after(next);
      else parent.prepend(next);
    },
    drop: ({ id }) => document.getElementById(id)?.remove(),
  };
  const following = () => {
    const page = document.documentElement;
    return document.querySelector("[data-follow]") !== null && page.scrollHeight - page.scrollTop - page.clientHeight < AT_END;
  };
  const take = (update) => {
    ahead = update.now - Date.now();
    const follows = following();
    for (const change of update.changes) changes[change.do]?.(change);
    tick();
    if (follows) scrollTo({ top: document.documentElement.scrollHeight });
  };

  // ---- The connection ----
  const states = {
    connecting: "connecting…",
    live: "live",
    reconnecting: "reconnecting…",
    refused: "not admitted any more: open the address that longboat printed",
  };
  const show = (state) => {
    if (!link || link.dataset.state === state) return;
    link.dataset.state = state;
    link.querySelector(".word").textContent = states[state];
  };
  let source = null;
  let heard = 0;
  let again = 0;
  const connect = () => {
    clearTimeout(again);
    source?.close();
    heard = Date.now();
    source = new EventSource(main.dataset.live);
    source.addEventListener("update", (event) => {
      heard = Date.now();
      again = 0;
      show("live");
      take(JSON.parse(event.data));
    });
    source.addEventListener("alive", () => { heard = Date.now(); });
    source.onerror = () => {
      show("reconnecting");
      // A browser tries again by itself only after a stream that was one.
      if (source.readyState === EventSource.CLOSED) retry();
    };
  };
  const retry = async () => {
    source?.close();
    // An answer without a stream says why there is none.
    const status = await fetch(main.dataset.live, { method: "HEAD" }).then((r) => r.status, () => 0);
    show(status === 401 ? "refused" : "reconnecting");
    again = setTimeout(connect, 1000);
  };
  if (main.dataset.live) {
    connect();
    setInterval(() => {
      if (Date.now() - heard > SILENCE) connect();
    }, 5000);
    addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
    addEventListener("pagehide", () => source?.close());
    if (document.querySelector("[data-follow]") && !location.hash) scrollTo({ top: document.documentElement.scrollHeight });
  }

  // ---- What a person does ----
  let fading = 0;
  const say = (text, bad = false) => {
    clearTimeout(fading);
    outcome.textContent = text;
    outcome.classList.toggle("bad", bad);
    fading = setTimeout(() => { outcome.textContent = ""; }, bad ? 12_000 : 4_000);
  };
  const ask = async (path, body) => {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body ?? {}),
    }).catch(() => { throw new Error("Longboat does not answer; try again when the page is live"); });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.detail ?? `It was refused (${answer.status})`);
    return said;
  };
  // While a request is under way its button cannot be pressed again.
  const once = async (button, work) => {
    if (button.disabled) return;
    button.disabled = true;
    try {
      await work();
    } catch (error) {
      say(error.message, true);
    } finally {
      button.disabled = false;
    }
  };
  // Words keep their name until they were taken: said again after a lost answer, they come once.
  const names = new WeakMap();
  const nameOf = (form, text) => {
    const known = names.get(form);
    if (known?.text === text) return known.id;
    const id = Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");
    names.set(form, { text, id });
    return id;
  };
  const forms = {
    say: async (form) => {
      const { text, member, how } = Object.fromEntries(new FormData(form));
      const id = nameOf(form, `${member} ${how} ${text}`);
      await ask(`${form.dataset.say}${encodeURIComponent(member)}/${how === "steer" ? "steer" : "prompt"}`, { text, id });
      names.delete(form);
      form.elements.text.value = "";
      form.querySelector('[value="prompt"]').checked = true;
      say(how === "steer" ? `${member} reads it at its next step` : `Queued for ${member}`);
    },
    begin: async (form) => {
      const { prompt, model } = Object.fromEntries(new FormData(form));
      const team = await ask(form.dataset.begin, model ? { prompt, model } : { prompt });
      location.assign(`/sessions/${encodeURIComponent(team.id)}`);
    },
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const kind = Object.keys(forms).find((kind) => form.dataset[kind]);
    if (!kind) return;
    event.preventDefault();
    once(form.querySelector("[type=submit]"), () => forms[kind](form));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.localName === "textarea") {
      event.target.form?.requestSubmit();
    }
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (!button) return;
    const body = button.dataset.body ? JSON.parse(button.dataset.body) : undefined;
    once(button, async () => {
      const said = await ask(button.dataset.act, body);
      say(said.cancelled === false ? "Nothing was under way any more" : button.dataset.done);
    });
  });
  tick();
})();
