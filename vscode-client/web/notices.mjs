// License notices of the packages in a build.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Returns the folders of the npm packages that contribute to a build in `folder`. */
export function packagesIn({ metafile }, folder) {
  const found = Object.keys(metafile.inputs).map(
    (input) => /^.*\/?node_modules\/(@[^/]+\/)?[^/]+/.exec(input)?.[0],
  );
  return new Set(found.filter((each) => each !== undefined).map((each) => path.resolve(folder, each)));
}

/** Writes the licenses of packages, from their own folders; a package without a license fails the build. */
export function writeNotices(folder, packages) {
  const notices = [...packages].map((each) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(each, "package.json"), "utf8"));
    const files = readdirSync(each)
      .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
      .sort();
    if (files.length === 0) {
      throw new Error(`The package ${name} has no file with its license, which the notices need.`);
    }
    const texts = files.map((file) =>
      readFileSync(path.join(each, file), "utf8").replaceAll("\r\n", "\n").trim(),
    );
    return `${name} ${version} (${license})\n\n${texts.join("\n\n")}\n`;
  });
  const heading = "This software contains the following packages, under their own licenses.\n";
  const rule = `\n${"-".repeat(80)}\n\n`;
  writeFileSync(path.join(folder, "THIRD_PARTY_NOTICES.txt"), [heading, ...notices.sort()].join(rule));
}
