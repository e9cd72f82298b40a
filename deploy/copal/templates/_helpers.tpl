{{- define "copal.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "copal.selector" . }}
{{- end }}

{{- define "copal.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The server's name, and its address in the cluster. */ -}}
{{- define "copal.server" -}}
{{ .Release.Name }}-server
{{- end }}

{{- define "copal.url" -}}
https://{{ include "copal.server" . }}.{{ .Release.Namespace }}.svc:8321
{{- end }}

{{- define "copal.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* No pod talks to the cluster, and no container gains rights or writes beside its volumes. */ -}}
{{- define "copal.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "copal.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "copal.user" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- /* Where a container without a home keeps what it remembers, and its scratch files. */ -}}
{{- define "copal.directories" -}}
- {name: COPAL_STATE_DIR, value: /state/keys}
- {name: COPAL_CACHE_DIR, value: {{ . }}}
- {name: TMPDIR, value: /scratch}
{{- end }}

{{- define "copal.environment" -}}
{{- range $name := keys . | sortAlpha }}
- {name: {{ $name }}, value: {{ get $ $name | quote }}}
{{- end }}
{{- end }}

{{- /* A volume of its own for scratch files: the free space that the command sees is what it may fill. Of an emptyDir it would see
       the node's, and the kubelet would evict the pod. */ -}}
{{- define "copal.scratch" -}}
ephemeral:
  volumeClaimTemplate:
    spec: {{- include "copal.claim" . | nindent 6 }}
{{- end }}

{{- define "copal.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .class }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}
