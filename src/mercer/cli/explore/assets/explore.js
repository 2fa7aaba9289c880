// Labels of sliders, and controls that the kernel or the view does not use.
const shown = (yes) => (yes ? {} : { display: "none" });
const number = (exponent) => Number((10 ** exponent).toPrecision(2)).toString();

window.dash_clientside = Object.assign({}, window.dash_clientside, {
  mercer: {
    kernel: (family, exponent) => {
      const name = ["Matern", "RationalQuadratic"].includes(family) ? "length" : "gamma";
      const degree = family === "Polynomial";
      return [`${name} = ${number(exponent)}`, shown(!degree && family !== "Linear"), shown(degree)];
    },
    controls: (operation, view, C) => [
      shown(operation !== "alone"),
      shown(["boundary", "vectors"].includes(view)),
      shown(["denoising", "vectors"].includes(view)),
      shown(["boundary", "components", "geometry"].includes(view)),
      `C = ${number(C)}`,
      view === "vectors" ? "Vectors of the model to download" : "Components",
    ],
  },
});
