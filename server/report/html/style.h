// The style of the page, and its digest for the Content-Security-Policy, which allows this text and nothing else.
// tests/integration/test_reports.py prints the new digest when the style has changed.
#pragma once

namespace castscope::report {

inline constexpr const char* kStyleDigest = "sha256-qyyy986Z++DxTS9Gx6IW/Eoe8BSRP2LXWzvlQY2IoDM=";

// --edge draws what carries meaning (3:1 against what it lies on), --line what only orders.
inline constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--edge:#818b96;
--mark:#fff3c4;--marker:#8a5a00;--cast:#b35300;--link:#0b57d0;--bar:#4c78a8;--area:#4c78a833;--rest:#d8dee4;
--flame:#ffdfb5;--flame-edge:#8f5a12;--error:#b3261e;--error-back:#fdecea;--warning:#8a5a00;--warning-back:#fff6dd;
--performance:#0b57d0;--info:#57606a}
@media screen and (prefers-color-scheme:dark){:root{--back:#0f1216;--card:#181c22;--ink:#e6e9ee;--soft:#9aa4b0;
--line:#2c333d;--edge:#77828f;--mark:#4a3f16;--marker:#f2c14e;--cast:#b35300;--link:#8ab4f8;--bar:#7ba7d7;
--area:#7ba7d733;--rest:#2c333d;--flame:#5a3a12;--flame-edge:#c99a5b;--error:#ff8a80;--error-back:#3a1715;
--warning:#f2c14e;--warning-back:#332a10;--performance:#8ab4f8;--info:#9aa4b0}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:.5rem}
body{margin:0 auto;padding:1.25rem 1.25rem 4rem;max-width:90rem;background:var(--back);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.35rem;margin:0}
h2{font-size:1.15rem;margin:0}
h3{font-size:1rem;margin:0}
table~h3,p~h3{margin-top:1.2rem}
p{margin:.35rem 0;overflow-wrap:break-word}
a{color:var(--link)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
code,pre,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.87em}
code,.wrap{overflow-wrap:anywhere}
.soft{color:var(--soft)}
.paper{display:none}
section{margin-top:2.1rem}
.heading{display:flex;gap:.4rem;align-items:baseline;margin-bottom:.6rem}
.anchor{display:inline-block;min-width:1.6rem;min-height:1.6rem;text-align:center;color:var(--soft)}
header .command{overflow-wrap:anywhere;margin:.3rem 0}
.facts{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;color:var(--soft);font-size:.92rem}
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
.finding:target{outline:2px solid var(--link);outline-offset:2px}
.head{display:flex;flex-wrap:wrap;gap:.1rem .7rem;align-items:baseline}
.severity{font-weight:600;text-transform:uppercase;font-size:.75rem;letter-spacing:.04em}
.error .severity{color:var(--error)}
.warning .severity{color:var(--warning)}
.performance .severity{color:var(--performance)}
.source{margin:.5rem 0;background:var(--card);border-radius:4px;overflow-x:auto;padding:.35rem 0}
.source span{display:block;padding:0 .7rem;white-space:pre;width:max-content;min-width:100%;border-left:3px solid transparent}
.source .hit{background:var(--mark);border-left-color:var(--marker)}
.source i{display:inline-block;min-width:3.2em;color:var(--soft);font-style:normal;text-align:right;padding-right:1em;
user-select:none}
.source .hit i{color:var(--ink);font-weight:700}
summary{cursor:pointer;color:var(--link);min-height:1.6rem;width:fit-content;max-width:100%;overflow-wrap:anywhere;text-decoration:underline}
details{margin:.3rem 0}
details>div{padding:.2rem 0 .2rem .9rem}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(24rem,100%),1fr));gap:1rem}
figure{margin:0;max-width:40rem;background:var(--card);border-radius:6px;padding:.6rem .7rem}
figcaption{font-size:.9rem;margin-bottom:.3rem}
figure svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:11px;font-family:inherit}
svg .grid{stroke:var(--line);stroke-width:1}
svg .area{fill:var(--area)}
svg .curve{fill:none;stroke:var(--bar);stroke-width:1.5}
svg .bar{fill:var(--bar)}
svg .rest{fill:var(--rest)}
.flame{display:block;margin:.5rem 0}
.flame .frame{fill:var(--flame);stroke:var(--flame-edge);stroke-width:1}
.flame .name{fill:var(--ink);font-size:12px}
.graph{overflow:auto;max-height:36rem;background:var(--card);border-radius:6px;margin:.5rem 0}
.graph svg{display:block;width:auto;height:auto;max-width:none;margin:0 auto}
.graph a{text-decoration:none}
.graph .body{fill:var(--back);stroke:var(--edge)}
.graph a:hover .body,.graph a:focus .body{stroke:var(--link);stroke-width:2}
.graph .folded .body{stroke-dasharray:4 3;stroke:var(--soft)}
.graph .badge{fill:var(--dtype)}
.graph .name{fill:var(--ink);font-size:12px;font-weight:600}
.graph .soft{font-size:11px}
.graph .dtype{fill:#fff;font-size:11px;font-weight:600}
.graph .line{fill:none;stroke:var(--dtype);stroke-width:1.5}
.graph .tip{fill:var(--soft)}
.graph .line.cast{stroke:var(--cast);stroke-width:2.5}
.graph .tip.cast,.graph .mark rect{fill:var(--cast)}
.graph .mark text{fill:#fff;font-size:11px;font-weight:600}
.d-f32{--dtype:#3f6fa8}
.d-bf16{--dtype:#2f7d54}
.d-f16{--dtype:#7d4fa8}
.d-f64{--dtype:#a03a6c}
.d-mixed,.d-other{--dtype:#6b7280}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.9rem}
.swatch i{display:inline-block;width:.85em;height:.85em;border-radius:3px;margin-right:.4em;background:var(--dtype)}
.swatch.cast i{background:var(--cast)}
.swatch i,.source .hit,.bad,.doubtful,.alert{-webkit-print-color-adjust:exact;print-color-adjust:exact}
tr:target td{background:var(--mark)}
details>div:target{box-shadow:inset 3px 0 var(--marker)}
table{border-collapse:collapse;width:100%;font-size:.9rem}
caption{text-align:left;color:var(--soft);padding:.2rem 0 .3rem}
th{text-align:left;vertical-align:bottom;color:var(--soft);font-weight:600;border-bottom:1px solid var(--edge);
padding:.3rem .7rem .3rem 0}
td,tbody th{border-bottom:1px solid var(--line);padding:.3rem .7rem .3rem 0;vertical-align:top}
td{overflow-wrap:break-word}
.stack td:nth-child(-n+3){min-width:8.5rem;overflow-wrap:anywhere}
.costs td{overflow-wrap:anywhere}
.costs td:nth-child(2){width:20%}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th.number{white-space:normal}
th.number:last-child,td.number:last-child{padding-right:0}
td.share{width:10rem}
.share svg{display:inline-block;width:5rem;height:.55rem;margin-left:.6rem;vertical-align:baseline}
.evidence th{width:45%;color:var(--soft);font-weight:400;vertical-align:top}
.evidence td{overflow-wrap:anywhere}
@media (min-width:75rem){
body{display:grid;grid-template-columns:12.5rem minmax(0,1fr);gap:0 2.2rem;align-items:start}
header{grid-column:1/-1}
nav{position:sticky;top:1rem;max-height:calc(100vh - 2rem);overflow-y:auto;margin-top:1rem}
nav>ul{display:block}
nav a{display:block}
nav ul ul{display:block;padding-left:.8rem}
}
@media (max-width:45rem){
body{padding:1rem .8rem 3rem}
figure svg text{font-size:15px}
.stack thead,.costs thead{display:none}
.stack,.stack caption,.stack tbody,.stack tr,.costs,.costs caption,.costs tbody,.costs tr,.costs td{display:block;width:auto}
.stack tr,.costs tr{border-bottom:1px solid var(--edge);padding:.45rem 0}
.costs td{border:0;padding:0;text-align:left}
.stack td,.stack td:nth-child(-n+3){display:inline-block;min-width:0;border:0;padding:0 .9rem 0 0;text-align:left;white-space:normal;overflow-wrap:anywhere}
.stack td:first-child{display:block;font-weight:600}
.stack td[data-label]:not(:empty):not(:first-child)::before{content:attr(data-label) ": ";color:var(--soft)}
.stack td:empty{display:none}
}
@media (forced-colors:active){
:root{--back:Canvas;--card:Canvas;--ink:CanvasText;--soft:CanvasText;--line:CanvasText;--edge:CanvasText;--link:LinkText;
--bar:Highlight;--area:transparent;--rest:GrayText;--flame:Canvas;--flame-edge:CanvasText}
.swatch i,.graph .badge,.graph .dtype,.graph .mark,.source .hit{forced-color-adjust:none}
.source span{border-left-color:Canvas}
.source .hit,.source .hit i{background:Mark;color:MarkText;border-left-color:MarkText}
.swatch i{border:1px solid CanvasText}
.cards div,figure,.graph,.source{border:1px solid CanvasText}
}
@media print{
:root{color-scheme:light}
@page{size:A4;margin:12mm}
html{font-size:8.6pt}
body{display:block;max-width:none;padding:0;font-size:1rem;line-height:1.35}
nav,.anchor,.screen,details:not([open]){display:none}
.paper{display:block;margin-top:1rem}
.verdict{margin:.4rem 0 .6rem}
section{margin-top:.9rem}
.heading,h3,caption{break-after:avoid}
.finding,figure,tr,.cards,.flame,.alert{break-inside:avoid}
.finding{padding:.35rem .6rem;margin-bottom:.5rem}
.source{margin:.25rem 0;padding:.15rem 0}
.source span{white-space:pre-wrap;width:auto}
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
