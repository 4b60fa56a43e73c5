// The style of the page, and its digest for the Content-Security-Policy, which allows this text and nothing else.
// tests/integration/test_reports.py prints the new digest when the style has changed.
#pragma once

namespace castscope::report {

inline constexpr const char* kStyleDigest = "sha256-OFvaKcxb1JrjfXOv1DNx1pjInZmN3aenkhX+4iypuXM=";

// --edge draws what carries meaning (3:1 against what it lies on), --line what only orders.
// The colours are those of the viewer (ui/src/style/theme.css and ui/src/model/looks/colours.ts): each dtype has the
// colour that casts to it have there, and letters on it have --on-…. ui/dev/report_colours_test.ts compares all of
// them. Casts in the graph have the colour of letters, which no dtype has.
inline constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--back:#ffffff;--card:#f7f8fa;--ink:#171b21;--soft:#57616d;--line:#e6e9ee;
--edge:#808a97;--accent:#0b5fc4;--mark:#c2410c;--hit-line:#fff3c4;--error:#b3261e;--warning:#8f5a00;
--performance:#0b5fc4;--info:#57616d;--error-back:#fdecea;--warning-back:#fff6dd;--bf16:#0062c0;--on-bf16:#ffffff;
--f16:#653388;--on-f16:#ffffff;--f32:#c44a02;--on-f32:#ffffff;--f64:#73152d;--on-f64:#ffffff;
--float8_e4m3fn:#01545d;--on-float8_e4m3fn:#ffffff;--float8_e5m2:#3396c8;--on-float8_e5m2:#101317;
--complex128:#a97f4b;--on-complex128:#101317;--int64:#bc4c83;--on-int64:#ffffff;--bool:#1f2662;--on-bool:#ffffff;
--other:#6e7f96;--on-other:#101317}
@media screen and (prefers-color-scheme:dark){:root{--back:#111419;--card:#1a1f26;--ink:#e7eaef;--soft:#9ba5b1;
--line:#232932;--edge:#727d8c;--accent:#6aaef2;--mark:#ffb454;--hit-line:#3b3212;--error:#ff8a80;--warning:#f2c14e;
--performance:#6aaef2;--info:#9ba5b1;--error-back:#3a1715;--warning-back:#332a10;--bf16:#4796f8;--on-bf16:#101317;
--f16:#a773c1;--on-f16:#101317;--f32:#ef6d32;--on-f32:#101317;--f64:#c84564;--on-f64:#ffffff;
--float8_e4m3fn:#0e7d83;--on-float8_e4m3fn:#ffffff;--float8_e5m2:#89d2fa;--on-float8_e5m2:#101317;
--complex128:#eaac34;--on-complex128:#101317;--int64:#f891cc;--on-int64:#101317;--bool:#5f63bc;--on-bool:#ffffff;
--other:#8a96a7;--on-other:#101317}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:.5rem}
body{margin:0 auto;padding:1.25rem 1.25rem 4rem;max-width:90rem;background:var(--back);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.35rem;margin:0}
h2{font-size:1.15rem;margin:0}
h3{font-size:1rem;margin:0}
table~h3,p~h3{margin-top:1.2rem}
p{margin:.35rem 0;overflow-wrap:break-word}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
code,pre,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.87em}
code,.wrap{overflow-wrap:anywhere}
.soft{color:var(--soft)}
.paper{display:none}
section{margin-top:2.1rem}
.heading{display:flex;gap:.4rem;align-items:baseline;margin-bottom:.6rem}
.anchor{display:inline-block;min-width:1.6rem;min-height:1.6rem;text-align:center;color:var(--soft)}
header .command{overflow-wrap:anywhere;margin:.3rem 0}
.facts{display:flex;flex-wrap:wrap;align-items:baseline;gap:.2rem 1.2rem;color:var(--soft);font-size:.92rem}
.end.bad,.end.doubtful{padding:0 .5rem;border:1px solid;border-radius:4px;font-weight:600}
.bad{color:var(--error);background:var(--error-back)}
.doubtful{color:var(--warning);background:var(--warning-back)}
.alert{border-left:4px solid var(--warning);background:var(--warning-back);padding:.45rem .8rem;margin:.8rem 0}
.alert.bad{border-left-color:var(--error);background:var(--error-back)}
.alert.bad p:first-child{font-weight:600}
.alert.bad p+p,.alert.bad details{color:var(--ink)}
.verdict{font-size:1.2rem;line-height:1.4;margin:.8rem 0 1rem;overflow-wrap:anywhere}
#totals{margin-top:0}
nav ul{list-style:none;margin:0;padding:0}
nav a{display:inline-block;min-height:1.6rem;padding:.1rem 0}
nav{margin:.8rem 0 0;font-size:.92rem}
nav>ul{display:flex;flex-wrap:wrap;gap:0 1.1rem}
nav ul ul{display:none}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));grid-auto-rows:1fr;gap:.5rem;margin:.5rem 0 .8rem;
padding:0}
.cards div{background:var(--card);border-radius:6px;padding:.4rem .7rem}
.cards dt{color:var(--soft);font-size:.85rem}
.cards dd{margin:0;font-size:1.12rem;font-variant-numeric:tabular-nums}
.finding{border:1px solid var(--edge);border-left:4px solid var(--info);border-radius:6px;padding:.6rem .9rem;margin:0 0 .8rem}
.finding.error{border-left-color:var(--error)}
.finding.warning{border-left-color:var(--warning)}
.finding.performance{border-left-color:var(--performance)}
.finding:target{outline:2px solid var(--accent);outline-offset:2px}
.head{display:flex;flex-wrap:wrap;gap:.1rem .7rem;align-items:baseline}
.severity{font-weight:600;text-transform:uppercase;font-size:.75rem;letter-spacing:.04em}
.error .severity{color:var(--error)}
.warning .severity{color:var(--warning)}
.performance .severity{color:var(--performance)}
.source,.graph{--on-it:var(--card);background:linear-gradient(to right,var(--on-it) 40%,transparent) 0 0/2rem 100% no-repeat local,
linear-gradient(to left,var(--on-it) 40%,transparent) 100% 0/2rem 100% no-repeat local,
linear-gradient(to right,var(--edge),transparent) 0 0/.6rem 100% no-repeat,
linear-gradient(to left,var(--edge),transparent) 100% 0/.6rem 100% no-repeat,var(--on-it)}
.source{margin:.5rem 0;border-radius:4px;overflow-x:auto;padding:.35rem 0}
.source span{display:block;padding:0 .7rem;white-space:pre;width:max-content;min-width:100%;border-left:3px solid transparent}
.source .hit{background:var(--hit-line);border-left-color:var(--mark)}
.source i{display:inline-block;min-width:3.2em;color:var(--soft);font-style:normal;text-align:right;padding-right:1em;
user-select:none}
.source .hit i{color:var(--ink);font-weight:700}
summary{cursor:pointer;color:var(--accent);min-height:1.6rem;width:fit-content;max-width:100%;overflow-wrap:anywhere;text-decoration:underline}
details{margin:.3rem 0}
details>div{padding:.2rem 0 .2rem .9rem}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(24rem,100%),1fr));gap:1rem}
figure{margin:0;max-width:40rem;background:var(--card);border-radius:6px;padding:.6rem .7rem}
figcaption{font-size:.9rem;margin-bottom:.3rem}
figure svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:11px;font-family:inherit}
svg .grid{stroke:var(--line);stroke-width:1}
svg .area{fill:var(--accent);fill-opacity:.2}
svg .curve{fill:none;stroke:var(--accent);stroke-width:1.5}
svg .bar{fill:var(--accent)}
svg .rest{fill:none;stroke:var(--edge)}
.flame{display:block;margin:.5rem 0}
.flame .frame{fill:var(--dtype);stroke:var(--back);stroke-width:1}
.flame .name{padding:0 .4rem;color:var(--on);font-size:12px;line-height:24px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.flame .more{--dtype:var(--card);--on:var(--ink)}
.flame .more .frame{stroke:var(--edge)}
.graph{--on-it:var(--back);overflow:auto;max-height:36rem;border:1px solid var(--edge);border-radius:6px;margin:.5rem 0}
.graph svg{display:block;width:auto;height:auto;max-width:none;margin:0 auto}
.graph a{text-decoration:none}
.graph .body{fill:var(--back);stroke:var(--edge)}
.graph a:hover .body,.graph a:focus .body{stroke:var(--accent);stroke-width:2}
.graph .folded .body{stroke-dasharray:4 3;stroke:var(--soft)}
.graph .badge,.graph .mark rect{fill:var(--dtype)}
.graph .name{fill:var(--ink);font-size:12px;font-weight:600}
.graph .soft{font-size:11px}
.graph .dtype,.graph .mark text{fill:var(--on);font-size:11px;font-weight:600}
.graph .line{fill:none;stroke:var(--dtype);stroke-width:1.5}
.graph .tip{fill:var(--soft)}
.graph .line.cast{stroke-width:3}
.graph .tip.cast{fill:var(--dtype)}
.d-bf16{--dtype:var(--bf16);--on:var(--on-bf16)}
.d-f16{--dtype:var(--f16);--on:var(--on-f16)}
.d-f32{--dtype:var(--f32);--on:var(--on-f32)}
.d-f64{--dtype:var(--f64);--on:var(--on-f64)}
.d-float8_e4m3fn{--dtype:var(--float8_e4m3fn);--on:var(--on-float8_e4m3fn)}
.d-float8_e5m2{--dtype:var(--float8_e5m2);--on:var(--on-float8_e5m2)}
.d-complex128{--dtype:var(--complex128);--on:var(--on-complex128)}
.d-int64{--dtype:var(--int64);--on:var(--on-int64)}
.d-bool{--dtype:var(--bool);--on:var(--on-bool)}
.d-mixed,.d-other{--dtype:var(--other);--on:var(--on-other)}
.cast,.mark{--dtype:var(--ink);--on:var(--back)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.9rem}
.swatch i{display:inline-block;width:.85em;height:.85em;border-radius:3px;margin-right:.4em;background:var(--dtype)}
.swatch i,.source .hit,.bad,.doubtful,.alert,.flame .name{-webkit-print-color-adjust:exact;print-color-adjust:exact}
tr:target td{background:var(--hit-line)}
details>div:target{box-shadow:inset 3px 0 var(--mark)}
table{border-collapse:collapse;width:100%;font-size:.9rem}
caption{text-align:left;color:var(--soft);padding:.2rem 0 .3rem}
th{text-align:left;vertical-align:bottom;color:var(--soft);font-weight:600;border-bottom:1px solid var(--edge);
padding:.3rem .7rem .3rem 0}
td,tbody th{border-bottom:1px solid var(--line);padding:.3rem .7rem .3rem 0;vertical-align:top}
td{overflow-wrap:break-word}
td,p{text-wrap:pretty}
.stack td:first-child:not(.number){min-width:8.5rem}
.costs td:nth-child(2){width:20%}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th.number{white-space:normal}
th.number:last-child,td.number:last-child{padding-right:0}
td.share{width:10rem}
.share svg{display:inline-block;width:5rem;height:.55rem;margin-left:.6rem;vertical-align:baseline}
.evidence th{width:45%;color:var(--soft);font-weight:400;vertical-align:top}
.evidence td{overflow-wrap:anywhere}
@media screen and (min-width:80rem){
body{display:grid;grid-template-columns:12.5rem minmax(0,1fr);gap:0 2.2rem;align-items:start}
header{grid-column:1/-1}
nav{position:sticky;top:1rem;max-height:calc(100vh - 2rem);overflow-y:auto;margin-top:1rem}
nav>ul{display:block}
nav a{display:block}
nav ul ul{display:block;padding-left:.8rem}
}
@media screen and (max-width:90rem){
.stack th,.stack td{padding-right:.5rem}
}
@media screen and (max-width:60rem){
.stack thead{display:none}
.stack,.stack caption,.stack tbody,.stack tr{display:block;width:auto}
.stack tr{border-bottom:1px solid var(--edge);padding:.45rem 0}
.stack td{display:inline-block;border:0;padding:0 .9rem 0 0;text-align:left;white-space:normal;overflow-wrap:anywhere}
.stack td:first-child,.stack td:first-child:not(.number){display:block;min-width:0;font-weight:600}
.stack td[data-label]:not(:empty):not(:first-child)::before{content:attr(data-label) ": ";color:var(--soft)}
.stack td:empty{display:none}
}
@media screen and (max-width:45rem){
body{padding:1rem .8rem 3rem}
.source span{white-space:pre-wrap;width:auto;padding-left:4.6em;text-indent:-3.9em;overflow-wrap:anywhere}
.source i{text-indent:0}
figure svg text{font-size:15px}
.costs thead{display:none}
.costs,.costs caption,.costs tbody,.costs tr,.costs td{display:block;width:auto}
.costs tr{border-bottom:1px solid var(--edge);padding:.45rem 0}
.costs td,.costs td:nth-child(2){width:auto;border:0;padding:0;text-align:left}
}
@media (forced-colors:active){
:root{--back:Canvas;--card:Canvas;--ink:CanvasText;--soft:CanvasText;--line:CanvasText;--edge:CanvasText;--accent:CanvasText;
--mark:MarkText;--hit-line:Mark}
a,summary{color:LinkText}
:focus-visible{outline-color:Highlight}
.swatch i,.flame,.flame *,.graph svg,.source .hit{forced-color-adjust:none}
svg .area{fill:none}
svg .curve{stroke-width:3}
svg .grid{stroke-width:.5;stroke-dasharray:2 4}
.source span{border-left-color:Canvas}
.source .hit,.source .hit i{color:MarkText}
.swatch i{border:1px solid CanvasText}
.cards div,figure,.source{border:1px solid CanvasText}
}
@media print{
:root{color-scheme:light}
@page{size:A4;margin:12mm}
html{font-size:8.6pt}
body{display:block;max-width:none;padding:0 1px;font-size:1rem;line-height:1.35}
nav,.anchor,.screen,details:not([open]){display:none}
.paper{display:block;margin-top:1rem}
.verdict{margin:.4rem 0 .6rem}
section{margin-top:.9rem}
.heading,h3,caption,thead,section>p.soft,p:has(+table){break-after:avoid}
tbody tr:first-child{break-before:avoid}
.finding,figure,tr,p,.cards,.flame,.alert{break-inside:avoid}
.finding{padding:.35rem .6rem;margin-bottom:.5rem}
.source{margin:.25rem 0;padding:.15rem 0}
.source span{white-space:pre-wrap;width:auto;padding-left:4.6em;text-indent:-3.9em;overflow-wrap:anywhere}
.source i{text-indent:0}
p{margin:.2rem 0}
.cards{grid-template-columns:repeat(auto-fill,minmax(7rem,1fr));gap:.25rem;margin:.3rem 0}
.cards div{border:1px solid var(--line);padding:.15rem .5rem}
.charts{grid-template-columns:1fr 1fr;gap:.5rem}
figure{border:1px solid var(--line);padding:.3rem}
svg text{font-size:8.5px}
figure svg text{font-size:11px}
td,tbody th{padding-top:.1rem;padding-bottom:.1rem}
.stack tbody tr:nth-child(n+11){display:none}
a{color:inherit;text-decoration:none}
}
)css";

}  // namespace castscope::report
