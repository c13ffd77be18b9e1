"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const make = (tag, text, parent) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
  const short = (value, digits = 3) => (Number.isFinite(value) ? Number(value.toPrecision(digits)).toString() : "none");
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const redraws = [];
  const redrawAll = () => redraws.forEach((redraw) => redraw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redrawAll, 60); });

  let sharpness = 0;   // pixels per CSS pixel at least; more for files
  const sharp = () => Math.max(sharpness, devicePixelRatio || 1);
  function prepare(canvas, width, height) {
    const scale = sharp();
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px " + getComputedStyle(document.body).fontFamily;
    return pen;
  }

  function niceTicks(low, high, wanted) {
    const raw = (high - low) / Math.max(1, wanted);
    if (!(raw > 0)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high + 1e-9 * step; i++) ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
  }

  // ------------------------------------------------------------------ copy

  all("button[data-copy]").forEach((button) => button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    let done = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      done = document.execCommand("copy");
    }
    const note = button.parentElement.querySelector(".copied");
    note.textContent = done ? "Copied." : "Press Ctrl+C: the text is selected.";
  }));

  // ------------------------------------------------------------------ sort

  function keyOf(row, column, nColumns) {
    if (row.cells.length < nColumns) return { place: -1 };   // a failed session: its reason spans columns
    const cell = row.cells[column];
    if (cell.querySelector(".missing") !== null || cell.textContent.trim() === "") return { place: 1 };
    const exact = cell.dataset.value;
    return exact === undefined ? { place: 0, text: cell.textContent.trim() } : { place: 0, number: Number(exact) };
  }
  const words = new Intl.Collator("en", { numeric: true });
  function compareKeys(a, b, sign) {   // failed sessions first, missing values last
    if (a.place || b.place) return a.place - b.place;
    return sign * (a.text === undefined ? a.number - b.number : words.compare(a.text, b.text));
  }
  all("table[data-sortable]").forEach((table) => {
    const heads = all("thead th", table);
    heads.forEach((head, column) => {
      const button = make("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") === "descending" ||
          (head.getAttribute("aria-sort") === null && head.classList.contains("text"));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const rows = all("tbody tr", table).map((row) => ({ row, key: keyOf(row, column, heads.length) }));
        rows.sort((a, b) => compareKeys(a.key, b.key, rising ? 1 : -1));
        table.tBodies[0].append(...rows.map((one) => one.row));
      });
    });
  });

  // ------------------------------------------------------------------ maps

  function setUpMaps(root) {
    const role = (name) => root.querySelector(`[data-role=${name}]`);
    const data = JSON.parse(role("data").textContent);
    const nCells = data.channels.length * data.lags.length, nLags = data.lags.length;
    const Ranks = data.wide ? Uint32Array : Uint16Array;
    const selectors = data.selectors.map((s) => ({ ...s, weights: new Float32Array(bytes(s.weights)), ranks: new Ranks(bytes(s.ranks)) }));
    const nFolds = data.n_folds, nOutputs = data.outputs.length;
    const readout = role("readout"), slider = role("n"), output = role("output");
    const state = { output: -1, n: data.n, cell: 0 };

    (nOutputs > 1 ? [["-1", "all, mean"]] : []).concat(data.outputs.map((name, i) => [String(i), name]))
      .forEach(([value, name]) => { make("option", name, output).value = value; });
    state.output = Number(output.value);
    const sizes = [];
    for (let n = 1; n <= nCells; n = n < 100 ? n + 1 : Math.max(n + 1, Math.min(nCells, Math.round(n * 1.03)))) sizes.push(n);
    if (sizes[sizes.length - 1] !== nCells) sizes.push(nCells);
    if (!sizes.includes(state.n)) { sizes.push(state.n); sizes.sort((a, b) => a - b); }
    slider.max = sizes.length - 1;
    slider.value = sizes.indexOf(state.n);

    const chosen = () => (state.output < 0 ? data.outputs.map((_, i) => i) : [state.output]);
    function weightOf(selector, cell) {
      const values = chosen().map((o) => selector.weights[o * nCells + cell]).filter(Number.isFinite);
      return values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN;
    }
    function ranksOf(selector, cell) {
      const found = [];
      for (const o of chosen()) for (let f = 0; f < nFolds; f++) {
        const rank = selector.ranks[(o * nFolds + f) * nCells + cell];
        if (rank > 0) found.push(rank);
      }
      return found;
    }
    function shares(selector) {
      const hits = new Float32Array(nCells), known = new Float32Array(nCells);
      for (const o of chosen()) for (let f = 0; f < nFolds; f++) {
        const base = (o * nFolds + f) * nCells;
        for (let cell = 0; cell < nCells; cell++) {
          const rank = selector.ranks[base + cell];
          if (rank > 0) { known[cell]++; if (rank <= state.n) hits[cell]++; }
        }
      }
      return hits.map((h, i) => (known[i] ? h / known[i] : 0));
    }
    function weightShades(selector) {
      const values = Float32Array.from({ length: nCells }, (_, cell) => weightOf(selector, cell));
      const largest = values.reduce((a, b) => (b > a ? b : a), 1e-30);
      return values.map((v) => (Number.isFinite(v) ? v / largest : 0));
    }

    function describe(selector, cell) {
      const channel = Math.floor(cell / nLags), lag = cell % nLags;
      const ranks = ranksOf(selector, cell).sort((a, b) => a - b);
      const middle = ranks.length ? (ranks[(ranks.length - 1) >> 1] + ranks[ranks.length >> 1]) / 2 : NaN;
      const hits = ranks.filter((r) => r <= state.n).length;
      const electrode = data.electrodes[channel] ? `, electrode ${data.electrodes[channel]}` : "";
      return `${selector.label}: channel ${data.channels[channel]}${electrode}${data.silent[channel] ? " (silent)" : ""}` +
        `${data.tuned[channel] ? ", tuned" : ""}${data.adds[channel] ? ", adds" : ""}, ` +
        `lag ${data.lags[lag]} ms; weight ${short(weightOf(selector, cell))}, median rank ${short(middle, 6)} of ${nCells}, ` +
        `among the best ${state.n} in ${hits} of ${ranks.length} folds (${ranks.length ? Math.round(100 * hits / ranks.length) : 0} %)`;
    }

    const views = [];
    function addView(selector, kind) {
      const box = make("div", undefined, role(kind === "weights" ? "maps" : "more"));
      box.className = kind === "weights" ? "map whole" : "map";
      const title = make("h3", "", box), hold = make("div", undefined, box);
      hold.className = "hold";
      const canvas = make("canvas", undefined, hold);
      canvas.tabIndex = 0;
      canvas.setAttribute("role", "application");
      canvas.setAttribute("aria-roledescription", "map");
      const view = { selector, kind, title, hold, canvas, cell: -1 };
      canvas.dataset.selector = selector.name;
      canvas.dataset.kind = kind;
      views.push(view);
      canvas.addEventListener("pointermove", (event) => select(view, cellAt(view, event)));
      canvas.addEventListener("pointerdown", (event) => select(view, cellAt(view, event)));
      canvas.addEventListener("pointerleave", () => { if (document.activeElement !== canvas) select(view, -1); });
      canvas.addEventListener("focus", () => select(view, view.cell < 0 ? state.cell : view.cell));
      canvas.addEventListener("blur", () => select(view, -1));
      canvas.addEventListener("keydown", (event) => moveCell(view, event));
    }
    function cellAt(view, event) {
      const box = view.canvas.getBoundingClientRect(), g = view.grid;
      const channel = Math.floor((event.clientX - box.left - g.left) / g.width);
      const row = Math.floor((event.clientY - box.top - g.top) / g.height);
      if (channel < 0 || channel >= data.channels.length || row < 0 || row >= nLags) return -1;
      return channel * nLags + (nLags - 1 - row);
    }
    function moveCell(view, event) {
      let channel = Math.floor(view.cell / nLags), lag = view.cell % nLags;
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
        Home: [-channel, 0], End: [data.channels.length - 1 - channel, 0], PageUp: [0, nLags], PageDown: [0, -nLags] };
      if (!(event.key in moves) || view.cell < 0) return;
      event.preventDefault();
      channel = clamp(channel + moves[event.key][0], 0, data.channels.length - 1);
      lag = clamp(lag + moves[event.key][1], 0, nLags - 1);
      select(view, channel * nLags + lag);
      const x = view.grid.left + channel * view.grid.width;
      if (x < view.hold.scrollLeft || x > view.hold.scrollLeft + view.hold.clientWidth - 20) view.hold.scrollLeft = x - 60;
    }
    function select(view, cell) {
      if (cell === view.cell) return;
      view.cell = cell;
      if (cell >= 0) { state.cell = cell; readout.textContent = describe(view.selector, cell); }
      draw(view);
    }

    function draw(view) {
      const silentRow = data.silent.concat(data.tuned, data.adds).some(Boolean) ? 10 : 2;
      const left = 44, bottom = 30, available = view.hold.clientWidth - left - 4;
      const width = Math.max(view.kind === "weights" ? 5 : 3, available / data.channels.length);
      const height = clamp(120 / nLags, 6, 16);
      const total = left + width * data.channels.length + 4, down = silentRow + height * nLags + bottom;
      const pen = prepare(view.canvas, total, down);
      const shown = view.shades || (view.shades = view.kind === "weights" ? weightShades(view.selector) : shares(view.selector));
      view.grid = { left, top: silentRow, width, height };
      pen.fillStyle = color("--c2");
      pen.globalAlpha = 0.35;
      data.silent.forEach((silent, c) => { if (silent) pen.fillRect(left + c * width, silentRow, width, height * nLags); });
      pen.fillStyle = color("--c0");
      const gap = width > 8 ? 0.5 : 0;
      for (let c = 0; c < data.channels.length; c++) for (let l = 0; l < nLags; l++) {
        const shade = shown[c * nLags + l];
        if (shade <= 0.004) continue;
        pen.globalAlpha = Math.min(1, shade) * (data.faded[c] ? 0.25 : 1);
        pen.fillRect(left + c * width, silentRow + (nLags - 1 - l) * height, width - gap, height - gap);
      }
      pen.globalAlpha = 1;
      drawMapAxes(pen, view, total);
      if (view.cell >= 0) {
        const c = Math.floor(view.cell / nLags), l = view.cell % nLags;
        pen.strokeStyle = color("--c8");
        pen.lineWidth = 2;
        pen.strokeRect(left + c * width - 1, silentRow + (nLags - 1 - l) * height - 1, width + 2, height + 2);
      }
    }
    function drawMapAxes(pen, view, total) {
      const { left, top, width, height } = view.grid, floor = top + height * nLags;
      pen.strokeStyle = color("--c2");
      pen.lineWidth = 1;
      pen.strokeRect(left - 0.5, top - 0.5, width * data.channels.length + 1, height * nLags + 1);
      pen.fillStyle = color("--c1");
      pen.textAlign = "center";
      [["tuned", "--c6", 4], ["adds", "--c8", 8]].forEach(([what, name, up]) => {
        pen.fillStyle = color(name);
        data[what].forEach((found, c) => { if (found) pen.fillRect(left + c * width + 0.15 * width, top - up, 0.7 * width, 2.5); });
      });
      pen.fillStyle = color("--c1");
      if (width >= 4) data.silent.forEach((silent, c) => { if (silent) pen.fillText("×", left + (c + 0.5) * width, top - 1); });
      pen.textAlign = "right";
      const every = Math.max(1, Math.ceil(14 / height));
      for (let l = 0; l < nLags; l += every) pen.fillText(data.lags[l], left - 5, floor - (l + 0.5) * height + 4);
      pen.save(); pen.translate(10, top + height * nLags / 2); pen.rotate(-Math.PI / 2);
      pen.textAlign = "center"; pen.fillText(height * nLags < 48 ? "ms" : "lag (ms)", 0, 0); pen.restore();
      pen.textAlign = "center";
      const names = data.channels.map((name) => (name.length > 8 ? name.slice(0, 7) + "…" : name));
      const widest = names.reduce((a, name) => Math.max(a, pen.measureText(name).width), 8) + 6;
      const step = Math.max(1, Math.ceil(widest / width));
      for (let c = 0; c < names.length; c += step) {
        const x = left + (c + 0.5) * width, half = pen.measureText(names[c]).width / 2;
        if (x + half <= total && x - half >= left - 12) pen.fillText(names[c], x, floor + 13);
      }
      pen.fillText("channel", left + width * data.channels.length / 2, floor + 27);
    }

    function update() {
      const n = state.n;
      role("count").textContent = n;
      slider.setAttribute("aria-valuetext", `${n} of ${nCells} features`);
      views.forEach((view) => {
        view.shades = null;
        const what = view.kind === "weights" ? `Weights of ${view.selector.label}` : `${view.selector.label}: best ${n}`;
        const more = view.hold.scrollWidth > view.hold.clientWidth + 1 ? "scroll for more" : "";
        view.title.textContent = view.kind === "weights" ? more : view.selector.label + (more && ` (${more})`);
        view.canvas.setAttribute("aria-label", `${what}; arrow keys move from cell to cell`);
        draw(view);
        if (view.cell >= 0) readout.textContent = describe(view.selector, view.cell);
      });
      root.dataset.n = n;
      root.dataset.selected = views.filter((v) => v.kind === "top").map((v) => Math.round(v.shades.reduce((a, b) => a + b, 0) * 1000) / 1000).join(" ");
    }
    slider.addEventListener("input", () => { state.n = sizes[Number(slider.value)]; update(); });
    output.addEventListener("change", () => { state.output = Number(output.value); update(); });
    if (selectors.length) addView(selectors[0], "weights");
    selectors.forEach((selector) => addView(selector, "top"));
    redraws.push(() => views.forEach((view) => draw(view)));
    role("others").addEventListener("toggle", () => views.forEach((view) => draw(view)));
    update();
  }
  all("[data-maps]").forEach(setUpMaps);

  // On paper, all that is folded is open.
  let opened = [];
  addEventListener("beforeprint", () => { opened = all("details:not([open])"); opened.forEach((fold) => { fold.open = true; }); });
  addEventListener("afterprint", () => { opened.forEach((fold) => { fold.open = false; }); });

  // ------------------------------------------------------------------ traces

  function setUpTraces(root) {
    const role = (name) => root.querySelector(`[data-role=${name}]`);
    const data = JSON.parse(role("data").textContent);
    const floats = (text) => new Float32Array(bytes(text));
    const time = new Float64Array(bytes(data.time)), trial = new Int32Array(bytes(data.trial));
    const truth = data.target.map(floats);
    const methods = data.methods.map((m) => ({ ...m, predicted: m.predicted.map(floats), sd: m.sd ? m.sd.map(floats) : null }));
    const first = time[0], last = time[time.length - 1] + data.interval;
    const state = { method: 0, start: first, stop: Math.min(last, first + data.stretch * clamp(innerWidth / 1000, 0.35, 1)), at: -1 };
    const select = role("method"), scroll = role("scroll"), readout = role("readout");
    methods.forEach((m, i) => { make("option", m.label, select).value = String(i); });
    const ranges = truth.map((values, o) => {
      let low = Infinity, high = -Infinity;
      for (const set of [values, methods[0].predicted[o]]) for (const v of set) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
      const pad = 0.06 * (high - low || 1);
      return [low - pad, high + pad];
    });

    const views = data.outputs.map((name, o) => {
      make("h3", name, role("views"));
      const canvas = make("canvas", undefined, role("views"));
      canvas.tabIndex = 0;
      canvas.setAttribute("role", "application");
      canvas.setAttribute("aria-roledescription", "trace");
      canvas.setAttribute("aria-label", `${name}, decoded and true; arrow keys scroll, plus and minus zoom`);
      return { o, canvas };
    });
    let plane = null;
    if (data.plane) {
      root.querySelector(".view").classList.add("with-plane");
      plane = { title: make("h3", "", role("plane")), canvas: make("canvas", undefined, role("plane")) };
      plane.canvas.setAttribute("role", "img");
      plane.canvas.dataset.kind = "plane";
    }

    const rowAt = (t) => {
      let a = 0, b = time.length - 1;
      while (a < b) { const m = (a + b + 1) >> 1; if (time[m] <= t) a = m; else b = m - 1; }
      return a;
    };
    const LEFT = 52, TOP = 6, BOTTOM = 32, HEIGHT = 168;

    function frame(view) {
      const width = role("views").clientWidth;
      const pen = prepare(view.canvas, width, HEIGHT);
      const [low, high] = ranges[view.o];
      const right = width - 8, floor = HEIGHT - BOTTOM;
      view.x = (t) => LEFT + (t - state.start) / (state.stop - state.start) * (right - LEFT);
      view.t = (x) => state.start + (x - LEFT) / (right - LEFT) * (state.stop - state.start);
      view.y = (v) => floor - (v - low) / (high - low) * (floor - TOP);
      return { pen, right, floor, low, high };
    }
    function line(pen, view, values, from, to) {
      pen.beginPath();
      let open = false;
      for (let i = from; i <= to; i++) {
        if (!Number.isFinite(values[i])) { open = false; continue; }
        if (open && time[i] - time[i - 1] > 1.5 * data.interval) open = false;
        const x = view.x(time[i]), y = view.y(values[i]);
        if (open) { if (data.classes.length) pen.lineTo(x, view.y(values[i - 1])); pen.lineTo(x, y); } else pen.moveTo(x, y);
        open = true;
      }
      pen.stroke();
    }
    function band(pen, view, mean, sd, from, to) {
      for (let i = from; i < to; i++) {
        if (time[i + 1] - time[i] > 1.5 * data.interval || !Number.isFinite(mean[i] + mean[i + 1] + sd[i] + sd[i + 1])) continue;
        pen.beginPath();
        pen.moveTo(view.x(time[i]), view.y(mean[i] + sd[i])); pen.lineTo(view.x(time[i + 1]), view.y(mean[i + 1] + sd[i + 1]));
        pen.lineTo(view.x(time[i + 1]), view.y(mean[i + 1] - sd[i + 1])); pen.lineTo(view.x(time[i]), view.y(mean[i] - sd[i]));
        pen.fill();
      }
    }
    function drawTrace(view) {
      const { pen, right, floor, low, high } = frame(view);
      const method = methods[state.method];
      const from = Math.max(0, rowAt(state.start) - 1), to = Math.min(time.length - 1, rowAt(state.stop) + 1);
      drawTrials(pen, view, from, to, floor);
      drawTraceAxes(pen, view, right, floor, low, high);
      pen.save();
      pen.beginPath(); pen.rect(LEFT, 0, right - LEFT, floor); pen.clip();
      if (method.sd) { pen.fillStyle = color(method.color); pen.globalAlpha = 0.2; band(pen, view, method.predicted[view.o], method.sd[view.o], from, to); pen.globalAlpha = 1; }
      pen.lineJoin = "round";
      pen.strokeStyle = color("--c4"); pen.lineWidth = 3; line(pen, view, truth[view.o], from, to);
      pen.strokeStyle = color(method.color); pen.lineWidth = 1.6; line(pen, view, method.predicted[view.o], from, to);
      if (state.at >= 0) {
        const x = view.x(time[state.at]);
        pen.strokeStyle = color("--c1"); pen.lineWidth = 1;
        pen.beginPath(); pen.moveTo(x, TOP); pen.lineTo(x, floor); pen.stroke();
      }
      pen.restore();
    }
    function drawTrials(pen, view, from, to, floor) {
      for (let i = from; i <= to; i++) {
        if (trial[i] < 0 || (i > 0 && trial[i] === trial[i - 1])) continue;
        let j = i;
        while (j + 1 < time.length && trial[j + 1] === trial[i]) j++;
        if (trial[i] % 2 === 0) {
          const a = Math.max(LEFT, view.x(time[i])), b = Math.min(view.canvas.clientWidth - 8, view.x(time[j] + data.interval));
          pen.fillStyle = color("--c2"); pen.globalAlpha = 0.28;
          if (b > a) pen.fillRect(a, TOP, b - a, floor - TOP);
          pen.globalAlpha = 1;
        }
      }
    }
    function drawTraceAxes(pen, view, right, floor, low, high) {
      pen.strokeStyle = color("--c2"); pen.lineWidth = 1; pen.fillStyle = color("--c1");
      pen.beginPath(); pen.moveTo(LEFT, TOP); pen.lineTo(LEFT, floor); pen.lineTo(right, floor); pen.stroke();
      pen.textAlign = "center";
      for (const t of niceTicks(state.start, state.stop, (right - LEFT) / 90)) pen.fillText(short(t, 7), view.x(t), floor + 13);
      pen.fillText("time (s)", (LEFT + right) / 2, floor + 27);
      pen.textAlign = "right";
      const classes = data.classes.map((name, i) => [i, name.length > 6 ? name.slice(0, 5) + "…" : name]);
      const skip = Math.max(1, Math.ceil(classes.length * 12 / (floor - TOP)));
      const ticks = classes.length ? classes.filter((_, i) => i % skip === 0) : niceTicks(low, high, 4).map((v) => [v, short(v, 4)]);
      for (const [v, name] of ticks) {
        const y = view.y(v);
        if (y < TOP + 2 || y > floor) continue;
        pen.fillText(name, LEFT - 5, y + 4);
      }
      pen.save(); pen.translate(10, (TOP + floor) / 2); pen.rotate(-Math.PI / 2); pen.textAlign = "center";
      pen.fillText(data.units[view.o] || (data.classes.length ? "class" : "value"), 0, 0); pen.restore();
    }
    function path(rows, sets) {
      const points = [];
      let x = 0, y = 0;
      for (const i of rows) {
        const a = sets[0][i], b = sets[1][i];
        if (!Number.isFinite(a + b)) continue;
        if (data.summed) { x += a * data.interval; y += b * data.interval; points.push([x, y]); } else points.push([a, b]);
      }
      return points;
    }
    function drawPlane() {
      const size = Math.min(300, role("plane").clientWidth), pen = prepare(plane.canvas, size, size);
      const from = rowAt(state.start), to = rowAt(state.stop), groups = [];
      for (let i = time[from] < state.start ? from + 1 : from; i <= to; i++) {
        if (!groups.length || (data.summed && trial[i] !== trial[i - 1])) groups.push([]);
        groups[groups.length - 1].push(i);
      }
      const pairs = groups.map((rows) => [path(rows, truth), path(rows, methods[state.method].predicted)]);
      const points = pairs.flat(2);
      const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
      const low = Math.min(...xs, ...ys, 0), high = Math.max(...xs, ...ys, 1e-9), pad = 0.05 * (high - low);
      const place = (v) => 44 + (v - low + pad) / (high - low + 2 * pad) * (size - 54);
      const X = place, Y = (v) => size - place(v) + 8;
      pen.strokeStyle = color("--c2"); pen.strokeRect(44, 8, size - 54, size - 46 - 6);
      pen.save(); pen.beginPath(); pen.rect(44, 8, size - 54, size - 52); pen.clip();
      pairs.forEach(([true_, decoded]) => [[true_, "--c4", 3], [decoded, methods[state.method].color, 1.5]].forEach(([points, name, width]) => {
        pen.strokeStyle = color(name); pen.lineWidth = width; pen.beginPath();
        points.forEach(([x, y], i) => (i ? pen.lineTo(X(x), Y(y)) : pen.moveTo(X(x), Y(y))));
        pen.stroke();
      }));
      pen.restore();
      pen.fillStyle = color("--c1"); pen.textAlign = "center";
      for (const v of niceTicks(low, high, 4)) pen.fillText(short(v, 4), X(v), size - 26);
      pen.fillText(data.plane[0], (44 + size - 10) / 2, size - 8);
      pen.textAlign = "right";
      for (const v of niceTicks(low, high, 4)) pen.fillText(short(v, 4), 40, Y(v) + 4);
      pen.save(); pen.translate(10, size / 2 - 18); pen.rotate(-Math.PI / 2); pen.textAlign = "center"; pen.fillText(data.plane[1], 0, 0); pen.restore();
      plane.title.textContent = data.summed ? "Paths of the trials shown" : "Path of the stretch shown";
      plane.canvas.setAttribute("aria-label", `True and decoded path in the plane, ${short(state.start, 6)} to ${short(state.stop, 6)} s`);
    }

    function show(start, length) {
      const span = clamp(length, Math.min(last - first, 4 * data.interval), last - first);
      state.start = clamp(start, first, last - span);
      state.stop = state.start + span;
      scroll.value = last - first > span ? Math.round(1000 * (state.start - first) / (last - first - span)) : 0;
      scroll.setAttribute("aria-valuetext", `${short(state.start, 6)} to ${short(state.stop, 6)} seconds`);
      redraw();
    }
    function redraw() {
      views.forEach(drawTrace);
      if (plane) drawPlane();
      const swatch = role("swatch");
      swatch.style.background = color(methods[state.method].color);
      role("name").textContent = `decoded, ${methods[state.method].label}`;
      root.dataset.start = state.start; root.dataset.stop = state.stop; root.dataset.method = methods[state.method].name;
    }
    const span = () => state.stop - state.start;
    const zoom = (factor) => { const middle = (state.start + state.stop) / 2; show(middle - span() * factor / 2, span() * factor); };
    function goToTrial(direction) {
      let i = rowAt((state.start + state.stop) / 2);
      const current = trial[i];
      if (span() > 2 * typical()) { i = rowAt(state.start); if (direction < 0) i = Math.max(0, i - 1); } else
        while (i + direction >= 0 && i + direction < time.length && (trial[i] === current || trial[i] < 0)) i += direction;
      let a = i, b = i;
      while (a > 0 && trial[a - 1] === trial[i]) a--;
      while (b + 1 < time.length && trial[b + 1] === trial[i]) b++;
      show(time[a] - data.interval, time[b] - time[a] + 3 * data.interval);
      read(a);
    }
    const typical = () => data.trial_length || data.stretch;
    function read(row) {
      state.at = row;
      const parts = data.outputs.map((name, o) => {
        const show = (v) => (data.classes.length ? (Number.isFinite(v) ? data.classes[Math.round(v)] : "none") : short(v, 4));
        return `${name}: true ${show(truth[o][row])}, decoded ${show(methods[state.method].predicted[o][row])}`;
      });
      readout.textContent = `${short(time[row], 8)} s${trial[row] >= 0 ? `, trial ${trial[row]}` : ""}. ${parts.join("; ")}` + (data.units[0] ? ` (${data.units[0]})` : "");
      views.forEach(drawTrace);
    }
    views.forEach((view) => {
      let grabbed = null;
      const canvas = view.canvas;
      canvas.addEventListener("pointerdown", (event) => { grabbed = { x: event.clientX, start: state.start }; canvas.setPointerCapture(event.pointerId); });
      canvas.addEventListener("pointerup", () => { grabbed = null; });
      canvas.addEventListener("pointermove", (event) => {
        const perPixel = span() / (canvas.clientWidth - LEFT - 8);
        if (grabbed) show(grabbed.start - (event.clientX - grabbed.x) * perPixel, span());
        else read(rowAt(view.t(event.clientX - canvas.getBoundingClientRect().left) + data.interval / 2));
      });
      canvas.addEventListener("pointerleave", () => { state.at = -1; views.forEach(drawTrace); });
      canvas.addEventListener("wheel", (event) => { if (event.ctrlKey) { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8); } }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        const actions = { ArrowLeft: () => show(state.start - span() / 10, span()), ArrowRight: () => show(state.start + span() / 10, span()),
          "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: () => show(first, span()), End: () => show(last, span()),
          PageUp: () => data.has_trials && goToTrial(-1), PageDown: () => data.has_trials && goToTrial(1) };
        if (event.key in actions) { event.preventDefault(); actions[event.key](); }
      });
    });
    const click = (name, action) => { const button = role(name); if (button) button.addEventListener("click", action); };
    click("in", () => zoom(0.5));
    click("out", () => zoom(2));
    click("previous", () => goToTrial(-1));
    click("next", () => goToTrial(1));
    scroll.addEventListener("input", () => show(first + Number(scroll.value) / 1000 * (last - first - span()), span()));
    select.addEventListener("change", () => { state.method = Number(select.value); redraw(); });
    redraws.push(redraw);
    show(state.start, span());
  }
  all("[data-traces]").forEach(setUpTraces);

  // ------------------------------------------------------------------ figures as files

  const SVG = "http://www.w3.org/2000/svg", FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif", MARGIN = 10, WIDEST = 980;
  const COPIED = ["fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "stroke-dashoffset", "stroke-linejoin", "stroke-linecap", "stroke-miterlimit", "opacity", "font-size", "font-weight",
    "font-style", "text-anchor"];
  const light = new Map(), looks = new Map();   // the colors of light pages; the rules of figures
  for (const rule of document.querySelector("style").sheet.cssRules) {
    if (rule.selectorText === ":root")
      for (const name of rule.style) if (/^--c\d+$/.test(name) && !light.has(name)) light.set(name, rule.style.getPropertyValue(name).trim());
    if (/^\.f\d+$/.test(rule.selectorText || "")) looks.set(rule.selectorText.slice(1), rule.style);
  }
  const inLight = (value) => value.replace(/var\((--c\d+)\)/g, (_, name) => light.get(name));

  function makeSvg(tag, attributes, parent) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (parent) parent.append(element);
    return element;
  }
  function copyPlain(source, parent, box) {   // rules of the page become attributes, which every program reads
    const copy = source.cloneNode(true);
    for (const element of [copy, ...all("*", copy)]) {
      const look = looks.get(element.getAttribute("class"));
      element.removeAttribute("class");
      if (look) for (const name of COPIED) { const value = look.getPropertyValue(name); if (value) element.setAttribute(name, inLight(value)); }
    }
    for (const [name, value] of Object.entries(box)) copy.setAttribute(name, value);
    parent.append(copy);
  }
  const ruler = document.createElement("canvas").getContext("2d");
  function placeLegend(figure, svg) {
    let x = MARGIN, y = MARGIN;
    const items = all("ul.legend li", figure);
    ruler.font = "13px " + FONT;
    for (const item of items) {
      const text = item.textContent.trim(), width = 36 + ruler.measureText(text).width;
      if (x > MARGIN && x + width > WIDEST) { x = MARGIN; y += 20; }
      const swatch = item.querySelector("svg");
      if (swatch) copyPlain(swatch, svg, { x, y: y + 2, width: 30, height: 12 });
      makeSvg("text", { x: x + 36, y: y + 13, "font-size": 13, fill: light.get("--c0") }, svg).textContent = text;
      x += width + 18;
    }
    return items.length ? y + 28 : MARGIN;
  }
  function assemble(figure) {   // the legend and all panels in rows, whatever the size of the window
    const svg = makeSvg("svg", { "font-family": FONT, "stroke-linejoin": "round" });
    const paper = makeSvg("rect", { width: "100%", height: "100%", fill: light.get("--c3") }, svg);
    let x = MARGIN, y = placeLegend(figure, svg), tallest = 0, widest = Math.min(WIDEST, 480);
    for (const panel of all(".panel > svg", figure)) {
      const { width, height } = panel.viewBox.baseVal, w = width * 4 / 3, h = height * 4 / 3;
      if (x > MARGIN && x + w > WIDEST) { x = MARGIN; y += tallest + MARGIN; tallest = 0; }
      copyPlain(panel, svg, { x, y, width: w, height: h });
      x += w + MARGIN; tallest = Math.max(tallest, h); widest = Math.max(widest, x);
    }
    if (all("ul.legend li", figure).length > 2) widest = Math.max(widest, WIDEST);
    const size = [Math.ceil(widest), Math.ceil(y + tallest + MARGIN)];
    svg.setAttribute("width", size[0]); svg.setAttribute("height", size[1]);
    svg.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
    paper.setAttribute("width", size[0]); paper.setAttribute("height", size[1]);
    return { text: new XMLSerializer().serializeToString(svg), size };
  }
  async function photograph({ text, size }) {
    const picture = new Image(), canvas = document.createElement("canvas"), scale = Math.min(3, 12000 / Math.max(...size));
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
    await picture.decode();
    [canvas.width, canvas.height] = size.map((length) => Math.round(length * scale));
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return canvas;
  }
  function stackCanvases(figure) {   // what is shown now, one below the other, in the colors of light pages
    const root = document.documentElement.style;
    light.forEach((value, name) => root.setProperty(name, value));
    sharpness = 2;
    redrawAll();
    const scale = sharp(), out = document.createElement("canvas"), pen = out.getContext("2d");
    const shown = all("canvas", figure).filter((c) => c.checkVisibility() && c.width > 1);
    const titleOf = (c) => { const h = c.previousElementSibling || (c.closest(".map") || c).querySelector("h3"); return h && h.tagName === "H3" ? h.textContent : ""; };
    const keys = all("p.legend > span", figure).filter((key) => key.querySelector(".swatch"));
    out.width = Math.max(480 * scale, ...shown.map((c) => c.width)) + 2 * MARGIN * scale;
    out.height = shown.reduce((sum, c) => sum + c.height + 30 * scale, (keys.length ? 40 : MARGIN) * scale);
    pen.fillStyle = light.get("--c3"); pen.fillRect(0, 0, out.width, out.height);
    pen.font = `${13 * scale}px ${FONT}`;
    let x = MARGIN * scale, y = MARGIN * scale;
    for (const key of keys) {
      pen.fillStyle = getComputedStyle(key.querySelector(".swatch")).backgroundColor; pen.fillRect(x, y + 5 * scale, 26 * scale, 5 * scale);
      pen.fillStyle = light.get("--c0"); pen.fillText(key.textContent.trim(), x + 32 * scale, y + 13 * scale);
      x += pen.measureText(key.textContent.trim()).width + 56 * scale;
    }
    if (keys.length) y += 24 * scale;
    for (const canvas of shown) {
      pen.fillStyle = light.get("--c0"); pen.fillText(titleOf(canvas), MARGIN * scale, y + 13 * scale);
      pen.drawImage(canvas, MARGIN * scale, y + 20 * scale);
      y += canvas.height + 30 * scale;
    }
    light.forEach((_, name) => root.removeProperty(name));
    sharpness = 0;
    redrawAll();
    return out;
  }
  function save(blob, figure, kind) {
    const link = make("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${document.title}-${figure.id.replace(/^figure-/, "")}`.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 120) + `.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
  function offerFiles(figure) {
    const caption = all("figcaption", figure).find((c) => !c.closest(".static-only"));
    const drawn = all("canvas", figure).length > 0;
    if (!caption || !(drawn || figure.querySelector(".panel > svg"))) return;
    const actions = { PNG: async () => (drawn ? stackCanvases(figure) : await photograph(assemble(figure))).toBlob((blob) => save(blob, figure, "png")) };
    if (!drawn) actions.SVG = () => save(new Blob([assemble(figure).text], { type: "image/svg+xml" }), figure, "svg");
    const row = make("span", "", caption.querySelector("p.caption") || caption), title = caption.querySelector("b");
    row.className = "files script-only";
    Object.keys(actions).sort().reverse().forEach((kind) => {
      const button = make("button", kind, row);
      button.type = "button"; button.className = "act"; button.dataset.file = kind.toLowerCase();
      button.setAttribute("aria-label", `${kind}: save ${title ? title.textContent.replace(/\.$/, "") : "this figure"}`);
      button.addEventListener("click", actions[kind]);
    });
  }
  all("figure[id]").forEach(offerFiles);
})();
