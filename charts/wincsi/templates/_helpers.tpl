{{- /* The image of that name, or without one that of HostProcess containers. One that nobody publishes has to be named. */ -}}
{{- define "wincsi.image" -}}
{{- $image := .of | empty | ternary .root.Values.image (get .root.Values.image .of) -}}
{{- if not $image.repository -}}
{{- $by := dict "" "`cargo xtask image`" "controller" "`cargo xtask image --controller`" "pipes" "deploy/pipes.Dockerfile" -}}
{{- fail (printf "image.%srepository is not set: nothing is published yet. %s makes the image, docs/deploy.md has how" (.of | empty | ternary "" (printf "%s." .of)) (get $by .of)) -}}
{{- end -}}
{{- $all := .root.Values.image -}}
image: {{ printf "%s:%s" $image.repository ($image.tag | default $all.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: {{ $image.pullPolicy | default $all.pullPolicy }}
{{- end -}}

{{- /* Values that reach a program unchanged: Kubernetes would replace $(NAME), and reads $$ as $. */ -}}
{{- define "wincsi.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | replace "$" "$$" | quote }}
{{- end }}
{{- end -}}

{{- /* The driver's name that the controller has, and its classes, which cannot change theirs. */ -}}
{{- define "wincsi.controller-name" -}}
{{- .Values.controller.driverName | default .Values.driver.name -}}
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
The DaemonSet .name of the switch .of, for Windows nodes: of a HostProcess container, or with .pipes of an ordinary one.

The runtime starts programs of HostProcess containers through `cmd /c`, as SYSTEM: command and args are fixed words.
*/ -}}
{{- define "wincsi.daemonset" -}}
{{- $values := .root.Values -}}
{{- $own := get $values .of -}}
{{- $port := int $own.port -}}
{{- $is_node := ne .of "csiProxy" -}}
{{- $container := $is_node | ternary "wincsi" "csi-proxy" -}}
{{- $program := .pipes | ternary "C:\\wincsi.exe" (print $container ".exe") -}}
{{- $variable := $is_node | ternary "WINCSI_%s_ADDRESS" "CSI_PROXY_%s_BIND_ADDRESS" -}}
{{- $elsewhere := and (eq $values.metrics.address "pod") (not .pipes) -}}
{{- $metrics := printf "%s:%d" (.pipes | ternary "0.0.0.0" ($elsewhere | ternary "$(POD_IP)" "127.0.0.1")) $port -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    app.kubernetes.io/name: {{ .name }}
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
  updateStrategy:
    type: {{ $values.node.updateStrategy }}
    {{- if eq $values.node.updateStrategy "RollingUpdate" }}
    rollingUpdate:
      maxUnavailable: {{ $values.node.maxUnavailable }}
    {{- end }}
  template:
    metadata:
      {{- include "wincsi.pod-metadata" . | nindent 6 }}
    spec:
      os:
        name: windows
      nodeSelector:
        {{- toYaml (merge (dict "kubernetes.io/os" "windows" "kubernetes.io/arch" "amd64") $own.nodeSelector) | nindent 8 }}
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
      # Else a Service named {{ $container }} would set variables that begin as ours.
      enableServiceLinks: false
      # For the preStop hook: after it the runtime gives a HostProcess container five seconds at most.
      terminationGracePeriodSeconds: 30
      containers:
        - name: {{ $container }}
          {{- include "wincsi.image" (dict "root" .root "of" (.pipes | ternary "pipes" "")) | nindent 10 }}
          command: [{{ $program | quote }}]
          {{- if $is_node }}
          args: ["node"]
          {{- end }}
          env:
            {{- if and $is_node (ne .name "wincsi-node") (not (hasKey .env "WINCSI_NODEID")) }}
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
            # Kubelet and people on the node ask there, Prometheus from elsewhere.
            - name: {{ printf $variable ($is_node | ternary "HEALTH" "HEALTHZ") }}
              value: 127.0.0.1:{{ $port }}
            {{- end }}
            - name: {{ printf $variable "METRICS" }}
              value: {{ $metrics }}
            {{- include "wincsi.env" .env | trim | nindent 12 }}
          {{- if or .pipes $elsewhere }}
          ports:
            - name: pages
              containerPort: {{ $port }}
          {{- end }}
          {{- if $is_node }}
          lifecycle:
            preStop:
              exec:
                command: {{ list $program "node" "drain" | toJson }}
          {{- end }}
          livenessProbe:
            httpGet:
              {{- if not .pipes }}
              host: 127.0.0.1
              {{- end }}
              port: {{ .pipes | ternary "pages" $port }}
              path: {{ $is_node | ternary "/healthz" "/livez" }}
            initialDelaySeconds: 10
            periodSeconds: 30
            timeoutSeconds: 10
            failureThreshold: 5
          readinessProbe:
            httpGet:
              {{- if not .pipes }}
              host: 127.0.0.1
              {{- end }}
              port: {{ .pipes | ternary "pages" $port }}
              path: /readyz
            periodSeconds: 10
            timeoutSeconds: 10
          resources:
            {{- toYaml ($is_node | ternary $values.windows.resources.smb $own.resources) | nindent 12 }}
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
