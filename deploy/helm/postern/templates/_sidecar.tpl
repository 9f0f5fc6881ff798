{{/* Labels by which the pods are selected. */}}
{{- define "postern.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "postern.labels" -}}
{{ include "postern.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "postern.name" -}}
{{ .Release.Name | trunc 55 | trimSuffix "-" }}-postern
{{- end }}

{{/* postern.yaml: the values' configuration over what the chart knows. */}}
{{- define "postern.configuration" -}}
{{- $listen := dict "path" "/run/postern/shared/postern.sock" "mode" "0660" "group" (.Values.socketGroup | toString) "directoryMode" "2770" }}
{{- $store := dict "path" "/var/lib/postern/store" "keyFile" "/run/secrets/postern/store-key" }}
{{- if not .Values.secretName }}
{{- $store = dict "kind" "memory" }}
{{- end }}
{{- $made := dict "listen" $listen "store" $store }}
{{- if .Values.metrics.enabled }}
{{- $_ := set $made "http" (dict "listen" (printf "0.0.0.0:%d" (int .Values.metrics.port)) "beyondLoopback" true) }}
{{- end }}
{{- $configuration := mustMergeOverwrite $made (deepCopy .Values.configuration) }}
{{- $own := dict "uid" 10001 "methods" (list "health" "metrics" "reloadConfig") }}
{{- $_ := set $configuration "peers" (concat (list $own) (.Values.configuration.peers | default list)) }}
{{- toYaml $configuration }}
{{- end }}

{{/* The sidecar's container, a native sidecar: an entry of `initContainers`. It starts before the application's containers, and is terminated
after them. */}}
{{- define "postern.container" -}}
name: postern
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
restartPolicy: Always
args: [serve, --config, /etc/postern/postern.yaml]
env:
  - name: POSTERN_SOCKET
    value: /run/postern/shared/postern.sock
{{- if .Values.metrics.enabled }}
ports:
  - name: postern-metrics
    containerPort: {{ .Values.metrics.port }}
{{- end }}
startupProbe:
  exec: { command: [/usr/bin/postern, probe] }
  periodSeconds: 1
  timeoutSeconds: 3
  failureThreshold: 30
readinessProbe:
  exec: { command: [/usr/bin/postern, probe, --ready] }
  periodSeconds: 10
  timeoutSeconds: 3
livenessProbe:
  exec: { command: [/usr/bin/postern, probe] }
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 3
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  runAsUser: 10001
  runAsGroup: 10001
  {{- include "postern.restricted" . | nindent 2 }}
volumeMounts:
  - { name: postern-socket, mountPath: /run/postern }
  - { name: postern-state, mountPath: /var/lib/postern }
  - { name: postern-configuration, mountPath: /etc/postern, readOnly: true }
  {{- if .Values.secretName }}
  - { name: postern-secrets, mountPath: /run/secrets/postern, readOnly: true }
  {{- end }}
  {{- if .Values.assertions }}
  - { name: postern-assertions, mountPath: /var/run/secrets/tokens, readOnly: true }
  {{- end }}
{{- end }}

{{- define "postern.restricted" -}}
runAsNonRoot: true
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* The pod's volumes for it: entries of `volumes`. The application mounts `postern-socket` at /run/postern, read-only. */}}
{{- define "postern.volumes" -}}
- name: postern-socket
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
# Sessions end with the pod. To keep them across pods share them: store.kind: redis.
- name: postern-state
  emptyDir: { medium: Memory, sizeLimit: 64Mi }
- name: postern-configuration
  configMap: { name: {{ include "postern.name" . }} }
{{- if .Values.secretName }}
- name: postern-secrets
  secret: { secretName: {{ .Values.secretName }}, defaultMode: 0440 }
{{- end }}
{{- if .Values.assertions }}
# The application does not mount it. Never by subPath: such a mount keeps its first token for ever.
- name: postern-assertions
  projected:
    defaultMode: 0440
    sources:
      {{- range $name, $token := .Values.assertions }}
      - serviceAccountToken:
          audience: {{ $token.audience | quote }}
          expirationSeconds: {{ int ($token.expirationSeconds | default 3600) }}
          path: {{ $name }}
      {{- end }}
{{- end }}
{{- end }}
