{{- /* What all containers of a source have. */ -}}
{{- define "copal.sourceContainer" -}}
image: {{ include "copal.image" .chart }}
imagePullPolicy: {{ .chart.Values.image.pullPolicy }}
env:
  - {name: COPAL_REPOSITORY, value: {{ .repository | quote }}}
  # Each run is a pod of another name, and the same machine.
  - {name: COPAL_HOST, value: {{ .source.name | quote }}}
  {{- include "copal.directories" "/cache" | nindent 2 }}
  {{- if .source.keyFile }}
  - {name: COPAL_KEY_FILE, value: /secret/given}
  {{- else if .source.passwordFile }}
  - {name: COPAL_PASSWORD_FILE, value: /secret/given}
  {{- end }}
  {{- if .caSecret }}
  - {name: COPAL_CA_FILE, value: /ca/ca.crt}
  {{- end }}
  {{- with .source.environment }}
  {{- include "copal.environment" . | nindent 2 }}
  {{- end }}
{{- with .source.bucketSecret }}
envFrom:
  - secretRef: {name: {{ . }}}
{{- end }}
resources: {{- toYaml .source.resources | nindent 2 }}
securityContext: {{- include "copal.container" .chart | nindent 2 }}
{{- end }}

{{- define "copal.sourceMounts" -}}
- {name: state, mountPath: /state}
- {name: cache, mountPath: /cache}
- {name: scratch, mountPath: /scratch}
{{- if .caSecret }}
- {name: ca, mountPath: /ca, readOnly: true}
{{- end }}
{{- end }}
