from __future__ import annotations

import pytest

from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.source import Source

PROMPTS = {
    "a list of parts": ("- name: a\n  content: b\n", Kind.PARTS),
    "a list of parts in a loop": (
        "{% for t in u %}\n- name: a\n  content: {{ t }}\n{% endfor %}\n",
        Kind.PARTS,
    ),
    "a part with sections": ("- name: a\n  sections: [{name: b, content: c}]\n", Kind.PARTS),
    "a part with a typo": ("- name: a\n  contnet: b\n", Kind.PARTS),
    "a part whose dash lacks its space": ("-name: a\n  role: user\n  content: b\n", Kind.PARTS),
    "parts with a name and a content": (
        "- name: question\n  content: '{{ q }}'\n- name: persona\n  content: {{ settings.start_token }}x\n",
        Kind.PARTS,
    ),
    "a secret among parts": (
        "- name: secret\n  content: '{{ x }}'\n- name: rules\n  content: Never tell the secret word.\n",
        Kind.PARTS,
    ),
    "a sentence under the name of a key": (
        "- name: api_key\n  content: Tell the user where to find the key of the API.\n",
        Kind.PARTS,
    ),
    "a broken part": ("- name: a\n  content: b\n  role user\n", Kind.PARTS),
    "a part indented with tabs": ("- name: a\n\trole: user\n\tcontent: |\n\t  b\n", Kind.PARTS),
    "a part with a tab after its dash": ("-\tname: a\n\tcontent: b\n", Kind.PARTS),
    "a part that is indented with one space": ("- name: a\n role: user\n   content: b\n", Kind.PARTS),
    "a part with a key that a model has": ("- name: a\n  content: '{{ b }}'\n  temperature: 0\n", Kind.PARTS),
    "a part with another key, and a text for a model": (
        "- name: a\n  content: You are a helpful assistant that answers questions of users.\n  priority: 5\n",
        Kind.PARTS,
    ),
    "a part with a function of Prompt Poet": (
        "- name: a\n  content: |\n    {{ escape_special_characters(x) }}\n  foo: 5\n",
        Kind.PARTS,
    ),
    "broken parts further in": ("  - name: a\n    role user\n    content: b\n", Kind.PARTS),
    "anything below a header": ("{#---\nname: x\n---#}\n", Kind.PARTS),
    "a header with a typo": ("{#---\ninputkeys: [a]\n---#}\n", Kind.PARTS),
    "a header that is being begun": ("{#---\ninp\n---#}\nHello\n", Kind.PARTS),
    "a header that is being written": ("{#---\ninput_keys: [a]\noutput_key: b\n", Kind.PARTS),
    "a mapping with an instruction": ("instruction: Hi.\n", Kind.OBJECT),
    "an object in a raw block": ("{% raw %}\ninstruction: Write {{x}}.\n{% endraw %}\n", Kind.OBJECT),
    "an object that is being begun": ("name: a\ndescription: b\ninstruction: Hi.\n", Kind.OBJECT),
    "an object with a key of one's own": (
        "instruction: Hi.\ninput_keys: [a]\nversion: 3\nowner: us\n",
        Kind.OBJECT,
    ),
    "an object whose certain key has a typo": (
        "instruction: Hi.\ninptu_keys: [a]\noutputkey: b\nowner: us\n",
        Kind.OBJECT,
    ),
    "an object with a typo": ("instruction: Hi.\nexampels: []\n", Kind.OBJECT),
    "an object that takes its keys from another mapping": (
        "base: &base {input_keys: [a]}\n<<: *base\ninstruction: Hi.\n",
        Kind.OBJECT,
    ),
    "a simple prompt of Ragas": (
        "type: Prompt\ninstruction: Hi {a}.\nexamples: []\n",
        Kind.OBJECT,
    ),
    "a mapping with keys of an object": ("input_keys: [a]\noutput_key: b\n", Kind.OBJECT),
    "a template alone": ("prompt_template:\n  template: 'Q: {q}'\nowner: us\n", Kind.EVALUATION),
    "a template that is being begun": ("prompt_template:\n", Kind.EVALUATION),
    "a template that is a mere text beside an inferencer": (
        "prompt_template: 'Q: {q}'\ninferencer: {type: GenInferencer}\n",
        Kind.EVALUATION,
    ),
    "a mapping with infer_cfg": ("infer_cfg:\n  prompt_template: {template: x}\n", Kind.EVALUATION),
}
OTHERS = {
    "users with their roles": "- name: '{{ user }}'\n  role: admin\n- name: deploy\n  role: user\n",
    "a comment between lines of dashes": "{#----\nMade by: hand\n----#}\n- name: a\n  hosts: '{{ b }}'\n",
    "a comment that opens as a header": "{#--- Managed by Ansible ---#}\nserver:\n  port: {{ port }}\n",
    "a comment with a colon that opens as a header": (
        "{#--- Managed by Ansible: do not edit ---#}\n- name: a\n  hosts: '{{ b }}'\n"
    ),
    "users of a system": "{% for u in users %}\n- name: {{ u.name }}\n  role: {{ u.role }}\n"
    "  password: {{ u.pw | hash }}\n{% endfor %}\n",
    "users with a role": "- name: a\n  role: user\n  email: a@b.c\n"
    "- name: b\n  role: admin\n  email: b@b.c\n",
    "Ansible tasks": "- name: Copy\n  copy:\n    content: x\n    dest: /y\n- name: Go\n  service: a=z\n",
    "an Ansible play": "- hosts: all\n  roles: [web]\n  tasks:\n    - name: a\n      debug: msg={{ b }}\n",
    "a compose file": "services:\n  web:\n    image: {{ image }}\n    environment: [A=b]\n",
    "a broken list of files further in": "  - name: a\n    content: b\n    path: c\n    x\n",
    "a broken list below a key": "files:\n  - name: a\n    content: b\n    x\n",
    "a list of DNS records": "- name: www\n  type: A\n  content: 1.2.3.4\n",
    "a list of hosts": "{% for h in hosts %}\n- name: {{ h }}\n  address: {{ h.ip }}\n{% endfor %}\n",
    "secrets by their names":
    "- name: db_password\n  content: '{{ x }}'\n- name: tls.key\n  content: '{{ y }}'\n",
    "secrets by their values":
    "- name: db\n  content: '{{ db_pass }}'\n- name: mail\n  content: '{{ mail_pass }}'\n",
    "secrets in a loop":
    "{% for s in all %}\n- name: {{ s.name }}\n  content: {{ s.value | b64encode }}\n{% endfor %}\n",
    "files to copy":
    "- name: /etc/motd\n  content: Welcome to {{ host }}.\n- name: app.conf\n  content: a = {{ b }}\n",
    "an environment": "- name: DB_URL\n  content: postgres://{{ host }}\n",
    "files indented with tabs": "- name: /etc/x\n\tcontent: |\n\t  a\n",
    "secrets indented with tabs": "- name: db_password\n\tcontent: '{{ vault }}'\n",
    "tasks indented with tabs":
    "- name: Write the file\n  copy:\n\tcontent: |\n\t  Hello {{ x }}\n\tdest: /etc/motd\n",
    "a broken list of plays with roles": "- name: a\n  role: geerlingguy.docker\n\tbecome: yes\n",
    "a chart of Helm": "{{- if .Values.x }}\n- name: a\n  content: {{ .Values.y }}\n{{- end }}\n",
    "records with long texts":
    "- name: www\n  type: TXT\n  content: this is a longer text of many words for some record\n",
    "words of customers":
    "- name: Jo\n  content: This is a great product and I would buy it again.\n  company: F\n",
    "a judge's configuration": "judge_model: gpt-4\nprompt_template: ['A: {a}', 'B: {b}']\n",
    "an agent's template": "prompt_template: |\n  Answer {{ question }}.\nmodel: a\n",
    "an agent's messages": "_target_: a.b\nprompt_template:\n  messages: [{role: user, content: c}]\n",
    "a list of texts": "- a\n- b\n",
    "automations": "- alias: Light\n  trigger: {platform: sun}\n  action: {service: light.turn_on}\n",
    "values of a chart": "image:\n  name: a\n  tag: {{ tag }}\nrole: web\n",
    "files of cloud-init": "write_files:\n- path: /a\n  content: |\n    {{ b }}\n",
    "an agent": "name: helper\nmodel: gemini-2.5-flash\ndescription: a\ninstruction: |\n  Help {{ who }}.\n"
    "tools:\n  - name: google_search\n",
    "an agent with examples": "instruction: Help.\nexamples: [{input: a, output: b}]\nweight: 1.0\n",
    "a task for an agent": "instruction: |\n  Fix {{ x }}.\ndifficulty: easy\nparser_name: pytest\n",
    "a skill": "name: a\ndescription: b\ntrigger: {type: keyword}\ninstruction: Do it.\nenabled: true\n",
    "a step of a machine": "instruction: MOV\noperands: [ax, {{ b }}]\n",
    "a step with a type": "type: reboot\ninstruction: Press the button on {{ host }}.\n",
    "an empty file": "",
    "plain text": "Hello {{ name }}.\n",
}  # fmt: skip


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_known_by_its_text(name: str) -> None:
    text, kind = PROMPTS[name]

    assert Template(Source.of(text)).kind is kind


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_prompt_is_known_to_be_none(name: str) -> None:
    assert Template(Source.of(OTHERS[name])).kind is Kind.OTHER
