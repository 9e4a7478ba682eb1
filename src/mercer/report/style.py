"""The style of pages and pictures, with colours for screens, dark screens and paper that suit the colour-blind."""

from __future__ import annotations

INK, FAINT = "#1f2328", "#d5dae1"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6fd0")
"""The palette of Okabe and Ito, without black, the colour of the text, and yellow, which is hard to see on white."""
DARK_SERIES = ("#4fb0ee", "#ff8a4c", "#2fcf9f", "#e59ac4", "#f2b632", "#9ad4f7", "#a99ff0")
MARKERS = "osD^vPX"

VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)"} | {one: f"var(--c{n})" for n, one in enumerate(SERIES)}
"""The style that replaces each colour of a picture on a page, which may be dark."""


def _series(colours: tuple[str, ...]) -> str:
    return ";".join(f"--c{number}:{colour}" for number, colour in enumerate(colours))


LIGHT = (
    f"--ink:{INK};--soft:#59636e;--faint:{FAINT};--ground:#fff;--raised:#f6f8fa;"
    f"--alarm:#b3261e;--alarmed:#fdeceb;{_series(SERIES)}"
)
DARK = (
    "--ink:#e6edf3;--soft:#9da7b3;--faint:#3b434d;--ground:#0f1318;--raised:#181d24;"
    f"--alarm:#ff8a80;--alarmed:#33191a;{_series(DARK_SERIES)}"
)

STYLE = f"""
:root{{color-scheme:light dark;{LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}
*{{box-sizing:border-box}}
html{{-webkit-text-size-adjust:100%}}
body{{font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif;
color:var(--ink);background:var(--ground);margin:0 auto;max-width:76rem;padding:2rem 1.25rem 4rem}}
h1{{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem;overflow-wrap:anywhere}}
h2{{font-size:1.2rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--faint)}}
h3{{font-size:1rem;margin:1.5rem 0 .25rem}}
p,dd,figcaption,li{{max-width:44rem;overflow-wrap:anywhere}}p{{margin:.5rem 0}}
.lead{{font-size:1.1rem;color:var(--soft)}}.lead strong{{color:var(--ink)}}
.note,figcaption,.small{{color:var(--soft);font-size:.875rem}}
.cards{{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.75rem;margin:1.25rem 0}}
.card{{min-width:0;overflow-wrap:anywhere;
background:var(--raised);border:1px solid var(--faint);border-radius:.5rem;padding:.75rem 1rem}}
.card .name{{font-size:.875rem;color:var(--soft)}}
.card .value{{font-size:1.6rem;font-weight:600;line-height:1.25;font-variant-numeric:tabular-nums}}
.alarm{{border:2px solid var(--alarm);border-left-width:.6rem;border-radius:.5rem;padding:.75rem 1rem;margin:1.25rem 0;
background:var(--alarmed)}}.alarm strong{{color:var(--alarm);font-size:1.1rem}}.alarm p{{max-width:none}}
.wide{{overflow:auto;max-height:min(85vh,60rem);margin:.75rem 0}}
.wide thead th{{position:sticky;top:0;z-index:1;background:var(--ground);border-bottom:0;
box-shadow:inset 0 -2px var(--faint)}}
.wide::-webkit-scrollbar{{width:.75rem;height:.75rem}}
.wide::-webkit-scrollbar-track,.wide::-webkit-scrollbar-corner{{background:var(--raised)}}
.wide::-webkit-scrollbar-thumb{{background:var(--soft);border:.2rem solid var(--raised);border-radius:.4rem}}
@supports not selector(::-webkit-scrollbar){{.wide{{scrollbar-color:var(--soft) var(--raised)}}}}
table{{border-collapse:collapse;font-size:.9rem;width:max-content}}.scores{{width:auto}}
th,td{{padding:.3rem .75rem;border-bottom:1px solid var(--faint);text-align:left;vertical-align:top}}
td,th{{overflow-wrap:break-word;max-width:22rem}}td .note{{display:block}}
thead th{{border-bottom:2px solid var(--faint);vertical-align:bottom;font-weight:600}}
.number{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
tr.best td{{font-weight:600;background:var(--raised)}}tr.exact td{{color:var(--soft)}}
tr.ahead td:last-child{{color:var(--alarm);font-weight:600}}
.bars{{width:100%;max-width:44rem;table-layout:fixed}}.bars th{{font-weight:400;width:30%;max-width:none}}
.bars td,.bars th{{border:0;padding:.15rem .5rem}}
.bars .number{{width:8.5rem}}
.bars .bar span{{display:block;height:1em;margin-top:.25em;background:var(--c0);border-radius:2px}}
.confusion th,.confusion td{{border:1px solid var(--faint)}}
.confusion td{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
.confusion th{{font-weight:600;max-width:9rem}}.confusion thead th{{text-align:right}}
.confusion th[scope=row],.confusion .corner{{position:sticky;left:0;z-index:1;background:var(--ground)}}
.confusion .corner{{z-index:2!important}}.confusion .none{{color:var(--soft);opacity:.6}}
.many th,.many td{{padding:.15rem .35rem;font-size:.8rem}}
.many thead th:not(.corner){{vertical-align:bottom;max-width:none}}
.many thead span{{writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;max-height:11rem}}
.confusion .corner{{font-weight:400;color:var(--soft);font-size:.8rem}}
.right{{background:rgb(0 114 178/calc(var(--s)*60%))}}.wrong{{background:rgb(213 94 0/calc(var(--s)*60%))}}
dl{{display:grid;grid-template-columns:fit-content(14rem) minmax(0,1fr);gap:.2rem 1rem;margin:.75rem 0;
font-size:.95rem}}
dt{{color:var(--soft)}}dd{{margin:0}}
figure{{margin:1rem 0}}figure svg{{display:block;width:100%;max-width:32rem;height:auto}}
figure svg text{{font-family:inherit!important}}
.figures{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr));gap:0 1.5rem}}
.figures>*{{min-width:0}}
pre{{background:var(--raised);border:1px solid var(--faint);border-radius:.5rem;padding:.75rem 1rem;
overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}}
code,pre{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}}
summary{{cursor:pointer;color:var(--soft);margin:.5rem 0}}
a:focus-visible,summary:focus-visible,.wide:focus-visible{{outline:2px solid var(--c0);outline-offset:2px}}
@media (max-width:34rem){{body{{padding-top:1.25rem}}
h1{{font-size:1.4rem}}dl{{grid-template-columns:minmax(0,1fr);gap:0}}
dd{{margin-bottom:.5rem}}.cards{{grid-template-columns:1fr 1fr}}.card .value{{font-size:1.3rem}}
th,td{{padding:.3rem .5rem;max-width:11rem}}}}
@media print{{:root{{{LIGHT}}}body{{max-width:none;padding:0;font-size:11pt}}section,figure,.card{{break-inside:avoid}}
h2{{break-after:avoid}}.wide{{overflow:visible;max-height:none}}table{{width:auto;max-width:100%}}
*{{print-color-adjust:exact}}}}
"""
