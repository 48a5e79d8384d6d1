{{- /* The image of that name, or without one that of HostProcess containers. One that nobody publishes has to be named. */ -}}
{{- define "wincsi.image" -}}
{{- $image := .root.Values.image -}}
{{- if .of }}{{ $image = get $image .of }}{{ end -}}
{{- if not $image.repository -}}
{{- fail (printf "image.%srepository is not set: nothing is published yet. `cargo xtask image` makes the image, docs/deploy.md has how" (.of | empty | ternary "" (printf "%s." .of))) -}}
{{- end -}}
image: {{ printf "%s:%s" $image.repository ($image.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end -}}

{{- /* Values that reach a program unchanged: Kubernetes would replace $(NAME), and reads $$ as $. */ -}}
{{- define "wincsi.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | replace "$" "$$" | quote }}
{{- end }}
{{- end -}}

{{- define "wincsi.pod-metadata" -}}
labels:
  {{- toYaml (merge (dict "app.kubernetes.io/name" .name) .root.Values.podLabels) | nindent 2 }}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /*
The DaemonSet of a program for Windows nodes: of a HostProcess container, or with .pipes of an ordinary one.

The runtime starts programs of HostProcess containers through `cmd /c`, as SYSTEM: command and args are fixed words.
*/ -}}
{{- define "wincsi.daemonset" -}}
{{- $values := .root.Values -}}
{{- $elsewhere := and (eq $values.metrics.address "pod") (not .pipes) -}}
{{- $metrics := printf "%s:%v" (.pipes | ternary "0.0.0.0" ($elsewhere | ternary "$(POD_IP)" "127.0.0.1")) .port -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ .name }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: {{ $values.node.maxUnavailable }}
  template:
    metadata:
      {{- include "wincsi.pod-metadata" . | nindent 6 }}
    spec:
      os:
        name: windows
      nodeSelector:
        {{- toYaml (merge (dict "kubernetes.io/os" "windows" "kubernetes.io/arch" "amd64") .nodeSelector) | nindent 8 }}
      {{- with $values.node.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.windows.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      priorityClassName: {{ $values.priorityClassName | default "system-node-critical" | quote }}
      {{- if not .pipes }}
      hostNetwork: true
      {{- end }}
      securityContext:
        windowsOptions:
          {{- if .pipes }}
          runAsUserName: ContainerAdministrator
          {{- else }}
          hostProcess: true
          runAsUserName: NT AUTHORITY\SYSTEM
          {{- end }}
      # The program calls no API of Kubernetes.
      automountServiceAccountToken: false
      # Else a Service named {{ .container }} would set variables that begin as ours.
      enableServiceLinks: false
      # For the preStop hook: after it the runtime gives a HostProcess container five seconds at most.
      terminationGracePeriodSeconds: 30
      containers:
        - name: {{ .container }}
          {{- include "wincsi.image" (dict "root" .root "of" (.pipes | ternary "pipes" "")) | nindent 10 }}
          command: [{{ .program | quote }}]
          {{- with .arguments }}
          args: {{ toJson . }}
          {{- end }}
          env:
            {{- if .nodeId }}
            - name: WINCSI_NODEID
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            {{- end }}
            {{- if $elsewhere }}
            - name: POD_IP
              valueFrom:
                fieldRef:
                  fieldPath: status.podIP
            # Kubelet's probes ask on the host, Prometheus from elsewhere.
            - name: {{ .variables.health }}
              value: 127.0.0.1:{{ .port }}
            {{- end }}
            - name: {{ .variables.metrics }}
              value: {{ $metrics }}
            {{- include "wincsi.env" .env | trim | nindent 12 }}
          {{- if or .pipes $elsewhere }}
          ports:
            - name: pages
              containerPort: {{ .port }}
          {{- end }}
          {{- if .arguments }}
          lifecycle:
            preStop:
              exec:
                command: {{ toJson (concat (list .program) .arguments (list "drain")) }}
          {{- end }}
          livenessProbe:
            httpGet:
              {{- if not .pipes }}
              host: 127.0.0.1
              {{- end }}
              port: {{ .pipes | ternary "pages" .port }}
              path: {{ .liveness }}
            initialDelaySeconds: 10
            periodSeconds: 30
            timeoutSeconds: 10
            failureThreshold: 5
          readinessProbe:
            httpGet:
              {{- if not .pipes }}
              host: 127.0.0.1
              {{- end }}
              port: {{ .pipes | ternary "pages" .port }}
              path: /readyz
            periodSeconds: 10
            timeoutSeconds: 10
          resources:
            {{- toYaml .resources | nindent 12 }}
          {{- if .pipes }}
          # The container starts only where each of these pipes exists.
          volumeMounts:
            - name: kubelet
              mountPath: {{ $values.windows.kubelet }}
            {{- range list "disk" "filesystem" "smb" "volume" }}
            - name: {{ . }}
              mountPath: \\.\pipe\csi-proxy-{{ . }}-v1
            {{- end }}
      volumes:
        - name: kubelet
          hostPath:
            path: {{ $values.windows.kubelet }}
            type: Directory
        {{- range list "disk" "filesystem" "smb" "volume" }}
        - name: {{ . }}
          hostPath:
            path: \\.\pipe\csi-proxy-{{ . }}-v1
        {{- end }}
        {{- end }}
{{- end -}}

{{- /* What both node plugins take from the values, below what an operator sets by name. */ -}}
{{- define "wincsi.node-env" -}}
{{- $set := dict "WINCSI_HOST" .host -}}
{{- if ne .driver "wincsi.io" }}{{ $_ := set $set "WINCSI_DRIVERNAME" .driver }}{{ end -}}
{{- if ne .root.Values.windows.kubelet "C:\\var\\lib\\kubelet" }}{{ $_ := set $set "WINCSI_KUBELET_PATH" .root.Values.windows.kubelet }}{{ end -}}
{{- if not .root.Values.windows.requirePrivacyForGlobalMapping }}{{ $_ := set $set "WINCSI_REQUIRE_PRIVACY" "false" }}{{ end -}}
{{- with int .root.Values.node.logLevel }}{{ $_ := set $set "WINCSI_V" (toString .) }}{{ end -}}
{{- if .controller }}{{ $_ := set $set "WINCSI_CONTROLLER" "true" }}{{ end -}}
{{- toJson (merge (dict) .env $set) -}}
{{- end -}}
