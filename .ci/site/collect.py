"""Lays the pages of the tree into a folder, as Material for MkDocs wants them, with a config that has their sections, and llms.txt.

    collect.py FOLDER CONFIG

GitHub's Markdown becomes Python-Markdown's: lists and tables get a blank line before them, and marks such as "sh long" one word. Links to
pages stay links to pages; links to other files lead to GitHub. A page without a section and a link that leads nowhere are errors.
"""
import os, posixpath, re, shutil, subprocess, sys

REPO, SITE = "https://github.com/reportferry/reportferry", "https://reportferry.github.io/reportferry/"
SECTIONS = {
    "Start": "README.md deploy/install.md deploy/upgrade.md deploy/moving/README.md deploy/moving/comparison.md deploy/moving/ingestr.md deploy/moving/airbyte.md "
             "deploy/moving/script.md",
    "Reference": "cmd/reportferry/README.md config/README.md config/apps/README.md sinks/README.md",
    "Jobs": "jobs/README.md jobs/report/README.md jobs/events/README.md jobs/raw/README.md jobs/spend/README.md jobs/sharing/README.md jobs/apps/README.md "
            "jobs/ledger/README.md jobs/ledger/model/README.md",
    "Reading": "sinks/reading.md sinks/iceberg.md deploy/bi/README.md deploy/bi/dbt.md deploy/bi/superset/README.md deploy/bi/looker-studio.md "
               "deploy/bi/grafana/README.md",
    "In a cloud": "deploy/README.md deploy/kubernetes/README.md deploy/aws/README.md deploy/azure/README.md deploy/terraform/README.md deploy/orchestrators.md "
                  "deploy/telemetry.md deploy/recovery.md deploy/rights.md deploy/costs.md",
    "The emulator": "internal/emulator/README.md internal/emulator/connector.md internal/emulator/readings.md internal/emulator/interface.md",
    "Project": ".github/CONTRIBUTING.md .github/CHANGELOG.md .github/SECURITY.md .github/CODE_OF_CONDUCT.md internal/adjust/README.md internal/bench/README.md",
}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
errors = []


def place(page):
    """The page in the folder: MkDocs leaves out what begins with a dot."""
    return page.replace(".github/", "project/")


def link(page, target, number):
    """A link of a page as the site has it."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return target
    path, _, anchor = target.partition("#")
    to = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    to = to if to in tracked else to + "/README.md" if to + "/README.md" in pages else to
    if to in pages or to in tracked and to.endswith((".svg", ".png")):
        if to not in pages:
            put(place(to), None, to)
        return posixpath.relpath(place(to), posixpath.dirname(place(page)) or ".") + ("#" + anchor if anchor else "")
    if not os.path.exists(to):
        errors.append(f"{page}:{number}: the link to {target} leads nowhere")
    return f"{REPO}/{'tree' if os.path.isdir(to) else 'blob'}/main/{to}" + ("#" + anchor if anchor else "")


def put(to, text, source=None):
    path = os.path.join(folder, to)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if source:
        shutil.copy(source, path)
    else:
        with open(path, "w") as file:
            file.write(text)


def converted(page):
    """The page in Python-Markdown's dialect."""
    lines, fence, before = [], False, ""
    for number, line in enumerate(open(page).read().split("\n"), 1):
        if mark := re.match(r"( *```)(\S*)", line):
            fence = not fence
            line = mark[1] + mark[2]
        elif not fence:
            if re.match(r"\|[-:|]+\|$", line) and line.count("|") != before.replace(r"\|", "").count("|") or line.endswith(" |") and line[0] != "|":
                errors.append(f"{page}:{number}: the row of a table hasn't as many cells as its head, or is cut")
            line = LINK.sub(lambda m: m[1] + link(page, m[2], number) + m[3], line)
            for start in (r"\s*([-*]|\d+\.) ", r"\|"):
                if re.match(start, line) and before.strip() and not re.match(start, before) and not before.startswith(" "):
                    lines.append("")
            if item := re.match(r"( {2,3})([-*] .*)", line):
                line = "    " + item[2]
        lines.append(line)
        before = line
    return "\n".join(lines)


def described(page):
    """The page's title and its first sentence."""
    text = re.sub(r"<!--.*?-->|```.*?```|^---\n.*?\n---\n", "", open(page).read(), flags=re.S | re.M)
    title = re.search(r"^# (.*)", text, re.M)
    if not title:
        errors.append(f"{page}:1: the page has no title")
        return page, ""
    for part in re.split(r"\n\s*\n", text[title.end():]):
        part = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", " ".join(part.split())).strip()
        part = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", part).replace("**", "")
        if part and part[0] not in "#|!<->" and not re.match(r"\d+\. ", part):
            return title[1].replace("`", ""), re.split(r"(?<=[.:]) (?=[A-Z`])", part)[0].rstrip(":")
    errors.append(f"{page}:1: the page has no first sentence")
    return title[1], ""


folder, config = sys.argv[1:]
tracked = set(subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n"))
listed = [page for section in SECTIONS.values() for page in section.split()]
pages = set(listed)
for page in tracked - pages:
    if page.endswith(".md") and not re.search("testdata|template", page, re.I):
        errors.append(f"{page}:1: the page is in no section of .ci/site/collect.py")
for page in sorted(pages - tracked):
    errors.append(f".ci/site/collect.py: {page} isn't in the tree")
pages &= tracked
nav, llms = ["nav:"], ["# reportferry", "", "> " + described("README.md")[1]]
for section, list_ in SECTIONS.items():
    nav.append(f"  - {section}:")
    llms += ["", f"## {section}", ""]
    for page in list_.split():
        if page in pages:
            title, sentence = described(page)
            put(place(page), converted(page))
            nav.append(f"      - {place(page)}")
            url = re.sub(r"(README)?\.md$", lambda m: "" if m[1] else "/", place(page))
            llms.append(f"- [{title}]({SITE}{url}): {sentence}")
put("llms.txt", "\n".join(llms) + "\n")
put("site.css", None, ".ci/site/site.css")
with open(config, "w") as file:
    file.write(open(".ci/site/mkdocs.yml").read() + "\n".join(nav) + "\n")
if errors:
    sys.exit("\n".join(["site:"] + errors))
