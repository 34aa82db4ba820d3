{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import server with context %}
{%- do salt.log.debug("server: " ~ server) %}

server-package:
  pkg.installed:
    - name: {{ server.package }}
{% for site in salt['pillar.get']('server:sites', []) %}
/etc/server/{{ site }}:
  file.managed: [{source: 'salt://{{ tplroot }}/site.conf'}]
{% endfor %}
