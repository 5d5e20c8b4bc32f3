// Where manuals of several versions stand side by side (docs/site_of_versions.py), a choice of versions above the
// search field.
document.addEventListener("DOMContentLoaded", async () => {
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const answer = await fetch(new URL("../versions.json", root)).catch(() => null);
  if (!answer?.ok) return;
  const choice = document.createElement("select");
  choice.ariaLabel = "Version of the manual";
  const here = root.pathname.split("/").at(-2);
  for (const version of await answer.json()) choice.add(new Option(version, version, false, version === here));
  choice.onchange = () => (location.href = new URL(`../${choice.value}/index.html`, root));
  document.querySelector(".sidebar-search-container").before(choice);
});
