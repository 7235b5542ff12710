// Draws the figures of a page from their data. Apache ECharts draws axes and lines; what a figure holds, its words and its
// scales come from latlab. Nothing is fetched, and no text becomes markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("figures").textContent);
  const DASHES = ["solid", [7, 4], [2, 3], [9, 3, 2, 3]];
  const SYMBOLS = { circle: "circle", triangle: "triangle", square: "rect", diamond: "diamond", tick: "rect" };
  const TABLE_ROWS = 500;

  const el = (name, text) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const names = (axis) => (typeof axis.scale === "object" ? axis.scale.names : null);

  function number(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size < 1e-3) return value.toExponential(2);
    const digits = size >= 1000 ? 0 : size >= 100 ? 1 : 3;
    return String(Number(value.toFixed(digits))).replace(/\B(?=(\d{3})+(?!\d)(?=[^.]*$))/g, (m, g, at, all) =>
      all.includes(".") ? "" : ",");
  }
  function on(axis, value) {
    const named = names(axis);
    return named ? (named[Math.round(value)] ?? "") : number(value);
  }
  function tick(value) {
    const exponent = Math.round(Math.log10(value));
    if (Math.abs(value / 10 ** exponent - 1) < 1e-9 && Math.abs(exponent) > 3) return "1e" + exponent;
    return number(value);
  }
  function ticks(from, to) {
    const decades = Math.log10(to / from);
    const steps = decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
    const found = [];
    for (let e = Math.floor(Math.log10(from)); e <= Math.ceil(Math.log10(to)); e++) {
      for (const step of steps) {
        const value = Number((step * 10 ** e).toPrecision(12));
        if (value >= from && value <= to) found.push(value);
      }
    }
    return found;
  }

  // Values at x by layer: what the pointer, the keys and the table read.
  function read(figure, x, hidden, reach) {
    const found = [];
    for (const panel of figure.panels) {
      for (const layer of panel.layers) {
        if (hidden.has(layer.name)) continue;
        const shape = layer.shape;
        const label = panel.y.label;
        if (shape.steps) {
          const at = before(shape.steps, x);
          if (at >= 0) found.push([layer.name, number(shape.steps[at][1]), label, layer]);
        } else if (shape.line) {
          const at = nearest(shape.line, x);
          if (at >= 0 && shape.line[at][1] !== null && Math.abs(shape.line[at][0] - x) <= reach * 4) {
            found.push([layer.name, number(shape.line[at][1]), label, layer]);
          }
        } else if (shape.points) {
          for (const point of shape.points.points) {
            if (Math.abs(point.x - x) <= reach) found.push([layer.name, point.label, "", layer]);
          }
        } else if (shape.cells) {
          const column = shape.cells.columns.findIndex(([from, to]) => from <= x && x <= to);
          const own = shape.cells.counts.filter(([c]) => c === column);
          if (own.length > 0) {
            const most = own.reduce((a, b) => (b[2] > a[2] ? b : a));
            const last = own[own.length - 1];
            const span = (row) => shape.cells.rows[row].map(number).join(" to ") + " us";
            found.push([layer.name, number(own.reduce((sum, c) => sum + c[2], 0)), "", layer]);
            found.push(["most", span(most[1]), "", layer], ["highest", span(last[1]) + ": " + number(last[2]), "", layer]);
          }
        }
      }
    }
    return found;
  }
  function before(points, x) {
    let low = 0, high = points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] <= x) low = middle + 1; else high = middle;
    }
    return low - 1;
  }
  function nearest(points, x) {
    const at = before(points, x);
    if (at < 0) return points.length ? 0 : -1;
    return at + 1 < points.length && points[at + 1][0] - x < x - points[at][0] ? at + 1 : at;
  }

  // Everything of a figure as tables: [head, rows].
  function tables(figure) {
    const all = [];
    for (const panel of figure.panels) {
      const x = figure.x.label || "name";
      const lines = panel.layers.filter((layer) => layer.shape.steps || layer.shape.line || layer.shape.band);
      if (lines.length > 0) {
        const rows = new Map();
        const head = [x];
        const put = (at, column, value) => {
          if (!rows.has(at)) rows.set(at, []);
          rows.get(at)[column] = value;
        };
        for (const layer of lines) {
          const shape = layer.shape;
          const of = layer.name + (panel.y.label ? ", " + panel.y.label : "");
          if (shape.band) {
            head.push(of + ", low", of + ", high");
            for (const [at, both] of shape.band) if (both) both.forEach((v, i) => put(at, head.length - 2 + i, v));
          } else {
            head.push(of);
            for (const [at, y] of shape.steps || shape.line) if (y !== null) put(at, head.length - 1, y);
          }
        }
        const sorted = [...rows.entries()].sort((a, b) => a[0] - b[0]);
        all.push([head, sorted.map(([at, row]) => head.map((_, i) => (i === 0 ? on(figure.x, at) : row[i] ?? "")))]);
      }
      const points = panel.layers.filter((layer) => layer.shape.points);
      if (points.length > 0) {
        const rows = points.flatMap((layer) => layer.shape.points.points.map((p) =>
          [layer.name, on(figure.x, p.x), on(panel.y, p.y), p.label]));
        if (rows.length > 0) all.push([["of", x, panel.y.label || "what", "about it"], rows]);
      }
      for (const { shape } of panel.layers) {
        if (!shape.cells) continue;
        const { columns, rows, counts } = shape.cells;
        all.push([["from " + x, "to " + x, "from " + panel.y.label, "to " + panel.y.label, "cycles"],
          counts.map(([c, r, n]) => [...columns[c], ...rows[r], n])]);
      }
    }
    return all;
  }
  function csv(figure) {
    const field = (value) => {
      let text = String(value);
      // A spreadsheet must not take a name for a formula.
      if (typeof value === "string" && /^[=+@-]/.test(text) && Number.isNaN(Number(text))) text = "'" + text;
      return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    };
    return tables(figure).map(([head, rows]) => [head, ...rows].map((row) => row.map(field).join(",")).join("\r\n")).join("\r\n\r\n") + "\r\n";
  }

  class Drawn {
    constructor(section) {
      this.section = section;
      this.figure = data[section.dataset.figure];
      this.host = section.querySelector(".chart");
      this.live = section.querySelector(".live");
      this.hidden = new Set();
      this.view = [this.figure.x.from, this.figure.x.to];
      this.cells = this.figure.panels.some((panel) => panel.layers.some((layer) => layer.shape.cells));
      this.legend();
      this.controls();
    }
    get log() { return this.figure.x.scale === "log"; }
    colours() {
      const style = getComputedStyle(document.documentElement);
      const of = (name) => style.getPropertyValue("--" + name).trim();
      return {
        hue: (i) => of("h" + i), text: of("fg"), soft: of("soft"), line: of("line"), limit: of("limit"), ground: of("bg"),
        heat: of("heat").split(" "),
      };
    }

    legend() {
      const box = this.section.querySelector(".legend");
      const seen = new Map();
      for (const panel of this.figure.panels) {
        if (names(panel.y)) continue;
        for (const layer of panel.layers) if (!seen.has(layer.name)) seen.set(layer.name, layer);
      }
      if (this.cells) {
        const layer = this.figure.panels[0].layers[0];
        const most = layer.shape.cells.counts.reduce((m, c) => Math.max(m, c[2]), 1);
        const scale = el("span");
        scale.className = "scale";
        box.append(el("span", "1 cycle "), scale, el("span", " " + number(most) + " cycles"));
        return;
      }
      for (const [name, layer] of seen) {
        const label = el("label");
        const check = el("input");
        check.type = "checkbox";
        check.checked = true;
        check.addEventListener("change", () => {
          if (check.checked) this.hidden.delete(name); else this.hidden.add(name);
          this.draw();
        });
        label.append(check, this.swatch(layer), el("span", name));
        box.append(label);
      }
    }
    swatch(layer) {
      const make = (name, attributes) => {
        const element = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        return element;
      };
      const svg = make("svg", { width: 26, height: 12, "aria-hidden": "true" });
      const colour = `var(--h${layer.hue})`;
      if (layer.shape.points) {
        const marks = { circle: "M13 2a4 4 0 1 0 .01 0z", triangle: "M13 1l5 9h-10z", square: "M9 2h8v8h-8z", diamond: "M13 1l5 5-5 5-5-5z", tick: "M12 0h2v12h-2z" };
        svg.append(make("path", { d: marks[layer.shape.points.symbol], style: `fill:${colour}` }));
      } else if (layer.shape.band) {
        svg.append(make("rect", { width: 26, height: 12, style: `fill:${colour};opacity:.35` }));
      } else {
        const dash = layer.dash ? DASHES[layer.dash].join(" ") : "none";
        svg.append(make("line", { x1: 0, x2: 26, y1: 6, y2: 6, style: `stroke:${colour};stroke-width:2.5;stroke-dasharray:${dash}` }));
      }
      return svg;
    }

    controls() {
      for (const button of this.section.querySelectorAll("[data-do]")) {
        button.addEventListener("click", () => {
          if (button.dataset.do === "csv") this.save();
          else this.zoom(button.dataset.do);
        });
      }
      this.host.addEventListener("keydown", (event) => {
        const zoom = { "+": "in", "=": "in", "-": "out", "0": "all" }[event.key];
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (zoom) this.zoom(zoom);
        else if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.step(event.key === "ArrowRight" ? 1 : -1);
        else if (event.key === "Escape") this.tip(null);
        else return;
        event.preventDefault();
      });
      const details = this.section.querySelector("details.data");
      details.addEventListener("toggle", () => { if (details.open) this.fill(details.querySelector(".table")); }, { once: true });
    }
    save() {
      const link = el("a");
      link.href = URL.createObjectURL(new Blob([csv(this.figure)], { type: "text/csv" }));
      link.download = this.figure.id + ".csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }
    fill(box) {
      box.tabIndex = 0;
      for (const [head, rows] of tables(this.figure)) {
        const table = el("table");
        const shown = rows.slice(0, TABLE_ROWS);
        const more = rows.length > shown.length ? `; the first ${shown.length} of ${rows.length} rows, the saved data hold all` : "";
        table.append(el("caption", this.figure.title + more));
        const line = (cells, kind) => {
          const row = el("tr");
          for (const cell of cells) row.append(el(kind, typeof cell === "number" ? number(cell) : cell));
          return row;
        };
        const thead = el("thead"), tbody = el("tbody");
        thead.append(line(head, "th"));
        for (const th of thead.querySelectorAll("th")) th.scope = "col";
        for (const row of shown) tbody.append(line(row, "td"));
        table.append(thead, tbody);
        box.append(table);
      }
    }

    // Positions on the horizontal axis, so that equal steps look equal.
    position(x) { return this.log ? Math.log10(x) : x; }
    value(p) { return this.log ? 10 ** p : p; }
    zoom(how, around) {
      const whole = [this.figure.x.from, this.figure.x.to].map((x) => this.position(x));
      const [low, high] = this.view.map((x) => this.position(x));
      const factor = { in: 0.5, out: 2, all: Infinity }[how];
      const middle = around === undefined ? (low + high) / 2 : this.position(around);
      const width = Math.max((high - low) * factor, (whole[1] - whole[0]) / 2000);
      if (width >= whole[1] - whole[0]) this.look(whole);
      else {
        const from = Math.min(Math.max(middle - width / 2, whole[0]), whole[1] - width);
        this.look([from, from + width]);
      }
    }
    look(view) {
      this.view = view.map((p) => this.value(p));
      this.tip(null);
      this.draw();
    }
    step(by) {
      const first = this.figure.panels[0].layers.map((layer) => layer.shape);
      const lines = first.find((s) => s.steps || s.line);
      const cells = first.find((s) => s.cells);
      const points = first.filter((s) => s.points).flatMap((s) => s.points.points.map((p) => p.x));
      let xs = lines ? (lines.steps || lines.line).map(([x]) => x) : cells ? cells.cells.columns.map(([a, b]) => (a + b) / 2) : points;
      xs = [...new Set(xs)].sort((a, b) => a - b).filter((x) => x >= this.view[0] && x <= this.view[1]);
      if (xs.length === 0) return;
      const now = this.cursor === undefined ? (by > 0 ? -1 : xs.length) : xs.findIndex((x) => x >= this.cursor);
      const at = Math.min(Math.max((now < 0 ? xs.length : now) + by, 0), xs.length - 1);
      this.tip(xs[at], true);
    }
    tip(x, speak) {
      this.cursor = x ?? undefined;
      this.box.hidden = this.hair.hidden = x === null;
      if (x === null) return;
      const px = this.chart.convertToPixel({ xAxisIndex: 0 }, x);
      const reach = this.reach(x);
      const found = read(this.figure, x, this.hidden, reach);
      this.box.replaceChildren(el("strong", [on(this.figure.x, x), this.figure.x.label].filter(Boolean).join(" · ")));
      const list = el("ul");
      for (const [name, value, , layer] of found.slice(0, 14)) {
        const item = el("li");
        item.append(this.swatch(layer), el("span", name + ": " + value));
        list.append(item);
      }
      if (found.length > 14) list.append(el("li", `and ${found.length - 14} more`));
      this.box.append(list);
      this.hair.style.left = px + "px";
      const width = this.host.clientWidth;
      const own = this.box.offsetWidth;
      this.box.style.left = Math.max(0, px + own + 14 > width ? Math.min(px - own - 10, width - own) : px + 10) + "px";
      if (speak) {
        this.live.textContent = on(this.figure.x, x) + " " + this.figure.x.label + ": " +
          (found.length ? found.slice(0, 14).map(([name, value, label]) => name + " " + value + (label ? " " + label : "")).join("; ") : "nothing");
      }
    }
    // How far a pointer reaches at x: some pixels.
    reach(x) {
      const px = this.chart.convertToPixel({ xAxisIndex: 0 }, x);
      return Math.abs(this.chart.convertFromPixel({ xAxisIndex: 0 }, px + 5) - x);
    }

    draw() {
      const width = this.host.clientWidth;
      const colours = this.colours();
      const layout = this.layout(width);
      const scale = this.section.querySelector(".scale");
      if (scale) scale.style.background = `linear-gradient(to right, ${colours.heat.join(",")})`;
      this.host.style.height = layout.height + "px";
      if (!this.chart) {
        this.chart = echarts.init(this.host, null, { renderer: this.cells ? "canvas" : "svg", width, height: layout.height });
        this.box = el("div");
        this.box.className = "tip";
        this.hair = el("div");
        this.hair.className = "hair";
        this.drag = el("div");
        this.drag.className = "drag";
        this.box.hidden = this.hair.hidden = this.drag.hidden = true;
        this.host.append(this.box, this.hair, this.drag);
        this.pointer();
      } else {
        this.chart.resize({ width, height: layout.height });
      }
      this.hair.style.top = layout.grids[0].top + "px";
      this.hair.style.height = layout.height - layout.grids[0].top - layout.bottom + "px";
      this.chart.setOption(this.option(layout, colours, width), { notMerge: true });
      this.host.dataset.drawn = "yes";
    }
    layout(width) {
      const narrow = width < 560;
      const listed = this.figure.panels.some((panel) => names(panel.y));
      const left = listed ? (narrow ? 92 : 122) : narrow ? 52 : 66;
      const right = narrow ? 12 : 22;
      const rules = this.labels(width - left - right, left);
      const many = this.figure.panels.length > 1;
      let top = 14 + 15 * rules.rows;
      const grids = [];
      for (const panel of this.figure.panels) {
        const rows = names(panel.y);
        const height = rows ? Math.max(40, rows.length * 20) : many ? panel.height * (narrow ? 68 : 82) : narrow ? 300 : 400;
        grids.push({ left, right, top, height });
        top += height + (many ? 26 : 0);
      }
      const bottom = 48;
      return { grids, rules, narrow, bottom, left, height: top - (many ? 26 : 0) + bottom };
    }
    // Labels of upright rules in as many rows as they need not to cover each other.
    labels(width, left) {
      const all = this.figure.panels.flatMap((panel) => panel.rules.filter((rule) => rule.along === "x"));
      const [low, high] = this.view.map((x) => this.position(x));
      const ends = [];
      const placed = new Map();
      for (const rule of [...all].sort((a, b) => a.at - b.at)) {
        const px = (this.position(rule.at) - low) / (high - low) * width;
        if (!(px >= 0 && px <= width)) continue;
        const half = rule.label.length * 3.4 + 5;
        const middle = Math.min(Math.max(px, half - left + 4), width + 8 - half);
        let row = ends.findIndex((end) => end <= middle - half);
        if (row < 0) row = ends.push(0) - 1;
        ends[row] = middle + half;
        placed.set(rule, { row, shift: middle - px });
      }
      return { placed, rows: ends.length };
    }

    option(layout, colours, width) {
      const figure = this.figure;
      const last = figure.panels.length - 1;
      const axis = (of, from, to, horizontal) => {
        const common = {
          axisLine: { show: true, lineStyle: { color: colours.soft } },
          axisTick: { show: true, lineStyle: { color: colours.soft } },
          splitLine: { show: true, lineStyle: { color: colours.line } },
          axisLabel: { color: colours.text, hideOverlap: true, fontSize: 12 },
          animation: false, min: from, max: to,
        };
        const named = names(of);
        if (named) {
          return { ...common, type: "category", data: named, min: Math.ceil(from), max: Math.floor(to), splitLine: { show: !horizontal, lineStyle: { color: colours.line } },
            axisLabel: { ...common.axisLabel, interval: horizontal ? "auto" : 0, width: horizontal ? undefined : layout.left - 12, overflow: "truncate" } };
        }
        if (of.scale === "log") {
          const values = ticks(from, to);
          return { ...common, type: "log", axisLabel: { ...common.axisLabel, customValues: values, formatter: tick },
            axisTick: { ...common.axisTick, customValues: values }, splitNumber: 4 };
        }
        return { ...common, type: "value", splitNumber: horizontal ? Math.max(3, Math.round(width / 110)) : 4,
          axisLabel: { ...common.axisLabel, showMinLabel: from === 0, showMaxLabel: false, formatter: (v) => number(v) } };
      };
      const option = {
        animation: false, backgroundColor: "transparent", textStyle: { fontFamily: "system-ui, sans-serif", color: colours.text },
        aria: { enabled: false }, grid: layout.grids, xAxis: [], yAxis: [], series: [],
      };
      figure.panels.forEach((panel, at) => {
        const x = axis(figure.x, this.view[0], this.view[1], true);
        x.gridIndex = at;
        if (at < last) { x.axisLabel = { ...x.axisLabel, show: false }; x.axisTick = { show: false }; }
        else Object.assign(x, { name: figure.x.label, nameLocation: "middle", nameGap: 28, nameTextStyle: { color: colours.text } });
        const y = axis(panel.y, panel.y.from, panel.y.to, false);
        Object.assign(y, { gridIndex: at, name: names(panel.y) ? "" : panel.y.label, nameLocation: "middle",
          nameGap: layout.left - 18, nameTextStyle: { color: colours.text } });
        if (names(panel.y)) y.inverse = true;
        else if (panel.height === 1 && last > 0) y.splitNumber = 2;
        if (last > 0 && panel.height === 1 && !names(panel.y)) {
          // Too low for words along the axis.
          Object.assign(y, { nameLocation: "end", nameGap: 6, nameTextStyle: { color: colours.text, align: "left", padding: [0, 0, 0, 4] } });
        }
        option.xAxis.push(x);
        option.yAxis.push(y);
        panel.layers.forEach((layer) => {
          if (!this.hidden.has(layer.name)) option.series.push(...this.series(panel, layer, at, colours));
        });
        option.series.push(this.rules(panel, at, layout, colours));
      });
      return option;
    }
    series(panel, layer, at, colours) {
      const colour = colours.hue(layer.hue);
      const common = { name: layer.name, xAxisIndex: at, yAxisIndex: at, silent: true, animation: false, clip: true };
      const floor = panel.y.scale === "log" ? panel.y.from : -Infinity;
      const shape = layer.shape;
      const style = { color: colour, width: 2, type: DASHES[layer.dash] };
      if (shape.steps || shape.line) {
        const points = (shape.steps || shape.line).map(([x, y]) => [x, y === null ? null : Math.max(y, floor)]);
        return [{ ...common, type: "line", step: shape.steps ? "end" : false, data: points, showSymbol: points.length === 1,
          connectNulls: false, lineStyle: style, itemStyle: { color: colour } }];
      }
      if (shape.points) {
        const size = shape.points.symbol === "tick" ? [2, 12] : shape.points.points.length > 200 ? 5 : 9;
        return [{ ...common, type: "scatter", symbol: SYMBOLS[shape.points.symbol], symbolSize: size, z: 4,
          data: shape.points.points.map((p) => [p.x, Math.max(p.y, floor)]), itemStyle: { color: colour, borderColor: colours.ground, borderWidth: shape.points.symbol === "tick" || shape.points.points.length > 200 ? 0 : 0.7 } }];
      }
      if (shape.band) {
        const runs = [[]];
        for (const [x, both] of shape.band) {
          if (both === null) runs.push([]);
          else runs[runs.length - 1].push([x, Math.max(both[0], floor), Math.max(both[1], floor)]);
        }
        return [{ ...common, type: "custom", z: 1, data: runs.filter((run) => run.length > 0).map((run) => [run[0][0], run[0][1]]),
          renderItem: (params, api) => {
            const run = runs.filter((r) => r.length > 0)[params.dataIndex];
            const up = run.map(([x, , high]) => api.coord([x, high]));
            const down = run.map(([x, low]) => api.coord([x, low])).reverse();
            return { type: "polygon", shape: { points: up.concat(down) }, style: { fill: colour, opacity: 0.28 } };
          } }];
      }
      const { columns, rows, counts } = shape.cells;
      const most = Math.log(counts.reduce((m, c) => Math.max(m, c[2]), 2));
      const shade = (n) => colours.heat[Math.min(colours.heat.length - 1, Math.floor(Math.log(n) / most * colours.heat.length))];
      const steps = colours.heat.map((fill) => ({ fill, cells: [] }));
      for (const cell of counts) steps[colours.heat.indexOf(shade(cell[2]))].cells.push(cell);
      const [low, high] = this.view;
      // A path for each shade: thousands of rectangles would be slow.
      return steps.filter((step) => step.cells.length > 0).map(({ fill, cells }) => ({ ...common, type: "custom", data: [[columns[0][0], rows[0][0]]],
        renderItem: (params, api) => {
          let d = "";
          for (const [c, r] of cells) {
            if (columns[c][1] < low || columns[c][0] > high) continue;
            const [x0, y0] = api.coord([Math.max(columns[c][0], low), rows[r][0]]);
            const [x1, y1] = api.coord([Math.min(columns[c][1], high), rows[r][1]]);
            d += `M${x0} ${y1}H${Math.max(x1, x0 + 1)}V${Math.max(y0, y1 + 1)}H${x0}Z`;
          }
          return { type: "path", shape: { pathData: d || "M0 0" }, style: { fill } };
        } }));
    }
    rules(panel, at, layout, colours) {
      const lines = panel.rules.map((rule) => {
        const colour = rule.limit ? colours.limit : colours.soft;
        const line = { lineStyle: { color: colour, width: rule.limit ? 2 : 1.2, type: rule.limit ? [8, 4] : [2, 3] } };
        const label = { show: true, color: rule.limit ? colours.limit : colours.text, formatter: () => rule.label, fontSize: 12, fontWeight: rule.limit ? "bold" : "normal" };
        if (rule.along === "x") {
          const place = layout.rules.placed.get(rule);
          if (!place) return null;
          return { ...line, xAxis: rule.at, label: { ...label, position: "end", distance: 3, offset: [place.shift, -15 * place.row] } };
        }
        if (rule.at < panel.y.from || rule.at > panel.y.to) return null;
        return { ...line, yAxis: rule.at, label: { ...label, position: "insideEndTop" } };
      });
      return { type: "line", xAxisIndex: at, yAxisIndex: at, data: [], silent: true, animation: false,
        markLine: { silent: true, symbol: "none", animation: false, data: lines.filter(Boolean) } };
    }

    pointer() {
      const zr = this.chart.getZr();
      const at = (event) => {
        const layout = this.layout(this.host.clientWidth);
        const right = this.host.clientWidth - layout.grids[0].right;
        if (event.offsetX < layout.left || event.offsetX > right) return null;
        const x = this.chart.convertFromPixel({ xAxisIndex: 0 }, event.offsetX);
        return Number.isFinite(x) ? x : null;
      };
      let from = null;
      zr.on("mousemove", (event) => {
        if (from !== null) {
          const [a, b] = [from, event.offsetX].sort((p, q) => p - q);
          Object.assign(this.drag.style, { left: a + "px", width: b - a + "px", top: this.hair.style.top, height: this.hair.style.height });
          this.drag.hidden = b - a < 8;
        } else this.tip(at(event));
      });
      zr.on("globalout", () => { from = null; this.drag.hidden = true; this.tip(null); });
      zr.on("mousedown", (event) => { if (event.event.pointerType !== "touch" && event.event.type !== "touchstart" && at(event) !== null) from = event.offsetX; });
      zr.on("mouseup", (event) => {
        if (from === null) return;
        const [a, b] = [from, event.offsetX].sort((p, q) => p - q);
        from = null;
        this.drag.hidden = true;
        if (b - a < 8) return;
        const view = [a, b].map((px) => this.chart.convertFromPixel({ xAxisIndex: 0 }, px));
        view[0] = Math.max(view[0], this.figure.x.from);
        view[1] = Math.min(view[1], this.figure.x.to);
        if (view[1] > view[0]) this.look(view.map((x) => this.position(x)));
      });
      zr.on("dblclick", () => this.zoom("all"));
      this.host.addEventListener("wheel", (event) => {
        // Without the key the page scrolls, as everywhere.
        if (!event.ctrlKey) return;
        event.preventDefault();
        const x = at({ offsetX: event.clientX - this.host.getBoundingClientRect().left });
        if (x !== null) this.zoom(event.deltaY < 0 ? "in" : "out", x);
      }, { passive: false });
    }
  }

  function copy(button) {
    const code = button.parentElement.querySelector("code");
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    const done = document.execCommand("copy");
    button.textContent = done ? "Copied" : "Selected";
  }
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button));

  const all = [...document.querySelectorAll("section.figure")].map((section) => new Drawn(section));
  const redraw = () => all.filter((drawn) => drawn.chart).forEach((drawn) => drawn.draw());
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.print = "yes";
    all.forEach((drawn) => drawn.draw());
  });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.print; redraw(); });
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const drawn = all.find((one) => one.host === target);
      if (drawn.chart && drawn.chart.getWidth() !== target.clientWidth) drawn.draw();
    }
  });
  all.forEach((drawn) => sizes.observe(drawn.host));
  // The first screen first; the rest when the browser has time.
  const later = all.slice();
  const next = () => {
    const drawn = later.shift();
    if (!drawn) { document.documentElement.dataset.ready = "yes"; return; }
    drawn.draw();
    if (later.length === all.length - 1) performance.mark("drawn");
    setTimeout(next, 0);
  };
  next();
})();
