const { config, charts } = JSON.parse(document.getElementById("charts").textContent);
for (const { place, spec } of charts) {
  vegaEmbed("#" + place, spec, {
    config,
    renderer: "svg",
    actions: { export: { svg: true, png: false }, source: false, compiled: false, editor: false },
  });
}
