// The style of the page, and its digest for the Content-Security-Policy, which allows this text and nothing else.
// tests/integration/test_reports.py prints the new digest when the style has changed.
#pragma once

namespace castscope::report {

inline constexpr const char* kStyleDigest = "sha256-iXybQD9icc9DgOpMd7I/KJ6FakBaPh606P+Hl2XIlVA=";

inline constexpr const char* kStyle = R"css(
:root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--mark:#fff3c4;--cast:#b85c00;
--link:#0b57d0;--bar:#4c78a8;--area:#4c78a833;--error:#b3261e;--warning:#8a5a00;--performance:#0b57d0;--info:#57606a}
@media (prefers-color-scheme:dark){:root{--back:#0f1216;--card:#181c22;--ink:#e6e9ee;--soft:#9aa4b0;--line:#2c333d;
--mark:#4a3f16;--cast:#c96a10;--link:#8ab4f8;--bar:#7ba7d7;--area:#7ba7d733;--error:#ff8a80;--warning:#f2c14e;--performance:#8ab4f8;
--info:#9aa4b0}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1.5rem 1.25rem 4rem;max-width:76rem;background:var(--back);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.35rem;margin:0}
h2{font-size:1.1rem;margin:2.2rem 0 .7rem}
h3{font-size:1rem;margin:0}
table~h3{margin-top:1.4rem}
p{margin:.35rem 0}
code,pre,.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.87em}
code,.wrap{overflow-wrap:anywhere}
.soft{color:var(--soft)}
header .command{overflow-wrap:anywhere;margin:.4rem 0}
.facts{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;color:var(--soft);font-size:.92rem}
.alert{border-left:4px solid var(--warning);background:var(--card);padding:.5rem .8rem;margin:.9rem 0}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.6rem;margin:0;padding:0}
.cards div{background:var(--card);border-radius:6px;padding:.55rem .75rem}
.cards dt{color:var(--soft);font-size:.85rem}
.cards dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}
.finding{border:1px solid var(--line);border-left:4px solid var(--info);border-radius:6px;padding:.7rem .9rem;
margin:0 0 .8rem}
.finding.error{border-left-color:var(--error)}
.finding.warning{border-left-color:var(--warning)}
.finding.performance{border-left-color:var(--performance)}
.head{display:flex;flex-wrap:wrap;gap:.1rem .7rem;align-items:baseline}
.severity{font-weight:600;text-transform:uppercase;font-size:.75rem;letter-spacing:.04em}
.error .severity{color:var(--error)}
.warning .severity{color:var(--warning)}
.performance .severity{color:var(--performance)}
.source{margin:.5rem 0;background:var(--card);border-radius:4px;overflow-x:auto;padding:.35rem 0}
.source span{display:block;padding:0 .7rem;white-space:pre;width:max-content;min-width:100%}
.source .hit{background:var(--mark);box-shadow:inset 3px 0 var(--warning)}
.source i{display:inline-block;min-width:3.2em;color:var(--soft);font-style:normal;text-align:right;padding-right:1em;
user-select:none}
summary{cursor:pointer;color:var(--link)}
details{margin:.4rem 0}
details>div{padding:.2rem 0 .2rem .9rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));gap:1rem}
figure{margin:0;max-width:40rem;background:var(--card);border-radius:6px;padding:.6rem .7rem}
figcaption{font-size:.9rem;margin-bottom:.3rem}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:11px;font-family:inherit}
svg .grid{stroke:var(--line);stroke-width:1}
svg .area{fill:var(--area)}
svg .curve{fill:none;stroke:var(--bar);stroke-width:1.5}
svg .bar{fill:var(--bar)}
svg .rest{fill:var(--line)}
.graph{overflow-x:auto;background:var(--card);border-radius:6px;margin:.5rem 0}
.graph svg{width:auto;height:auto;max-width:none;margin:0 auto;flex:none}
.graph a{text-decoration:none}
.graph .body{fill:var(--back);stroke:var(--line)}
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
.d-f64{--dtype:#8c2f5e}
.d-mixed,.d-other{--dtype:#6b7280}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.9rem}
.swatch i{display:inline-block;width:.85em;height:.85em;border-radius:3px;margin-right:.4em;background:var(--dtype)}
.swatch.cast i{background:var(--cast)}
tr:target td{background:var(--mark)}
details>div:target{box-shadow:inset 3px 0 var(--warning)}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th{text-align:left;color:var(--soft);font-weight:500;border-bottom:1px solid var(--line);padding:.3rem .5rem .3rem 0}
td{border-bottom:1px solid var(--line);padding:.3rem .5rem .3rem 0;vertical-align:top}
td:nth-child(-n+3),.evidence td{overflow-wrap:anywhere}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th.number,td.number{padding-right:.9rem}
th.number:last-child,td.number:last-child{padding-right:0}
td.bar{width:6rem;min-width:4rem;padding-top:.55rem}
.evidence td:first-child{width:45%;color:var(--soft)}
@media (max-width:720px){
body{padding:1rem .8rem 3rem}
svg text{font-size:15px}
.stack thead{display:none}
.stack,.stack tbody,.stack tr{display:block;width:auto}
.stack tr{border-bottom:1px solid var(--line);padding:.45rem 0}
.stack td{display:inline-block;border:0;padding:0 .9rem 0 0;text-align:left;white-space:normal}
.stack td:first-child{display:block;font-weight:500}
.stack td[data-label]:not(:empty):not(:first-child)::before{content:attr(data-label) ": ";color:var(--soft)}
.stack td:empty,.stack td.bar{display:none}
}
@media print{
:root{--back:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--mark:#eee;--link:#000;--bar:#555;--area:#ddd;
--error:#000;--warning:#000;--performance:#000;--info:#444}
body{max-width:none;padding:0;font-size:10pt}
.finding,figure,tr,.cards div{break-inside:avoid}
.source span{white-space:pre-wrap;width:auto}
figure,.cards div{border:1px solid var(--line)}
details::details-content{content-visibility:visible;block-size:auto}
summary{list-style:none}
}
)css";

}  // namespace castscope::report
