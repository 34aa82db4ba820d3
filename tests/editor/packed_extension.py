"""An extension of VS Code packed from a folder, as the editor installs it."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

_TYPES = """\
<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="json" ContentType="application/json"/>
<Default Extension="js" ContentType="application/javascript"/>
<Default Extension="vsixmanifest" ContentType="text/xml"/>
</Types>
"""
_MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id="{name}" Version="{version}" Publisher="{publisher}"/>
<DisplayName>{displayName}</DisplayName>
<Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value="{engine}"/></Properties>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
</Assets>
</PackageManifest>
"""


def packed(folder: Path, target: Path) -> Path:
    """Pack the extension of a folder as a `.vsix` file at `target`."""
    package = json.loads((folder / "package.json").read_text("utf-8"))
    with ZipFile(target, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        manifest = _MANIFEST.format(**package, engine=package["engines"]["vscode"])
        archive.writestr("extension.vsixmanifest", manifest)
        for path in sorted(folder.iterdir()):
            archive.write(path, f"extension/{path.name}")
    return target
