{{/*
The manifests in `manifests` and `crds` are those of `examples`: templates change what the values say and nothing else.
*/}}

{{/*
weir.patch (list DOCUMENT PATCH): changes a document in place, as kustomize does with a strategic merge patch. Maps are merged
by key and lists by their items' names, with the patch's items first; anything else is replaced.
*/}}
{{- define "weir.patch" -}}
{{- $document := index . 0 -}}
{{- range $key, $new := index . 1 -}}
{{- $old := get $document $key -}}
{{- if and (kindIs "map" $old) (kindIs "map" $new) -}}
{{- include "weir.patch" (list $old $new) -}}
{{- else if and (kindIs "slice" $old) (kindIs "slice" $new) (hasKey (first $new) "name") -}}
{{- $items := list -}}
{{- $names := list -}}
{{- range $item := $new -}}
{{- range $same := $old -}}
{{- if eq $same.name $item.name -}}
{{- include "weir.patch" (list $same $item) -}}
{{- $item = $same -}}
{{- end -}}
{{- end -}}
{{- $items = append $items $item -}}
{{- $names = append $names $item.name -}}
{{- end -}}
{{- range $item := $old -}}
{{- if not (has $item.name $names) -}}
{{- $items = append $items $item -}}
{{- end -}}
{{- end -}}
{{- $_ := set $document $key $items -}}
{{- else -}}
{{- $_ := set $document $key $new -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
weir.manifest (list ROOT FILE): a manifest with the overlays that the values select, in the release's namespace, as YAML.
*/}}
{{- define "weir.manifest" -}}
{{- $root := index . 0 -}}
{{- $file := index . 1 -}}
{{- $manifest := $root.Files.Get (printf "manifests/kubernetes/%s" $file) | fromYaml -}}
{{- range $overlay, $selected := dict "from-multus" $root.Values.fromMultus "kubernetes-plugins" $root.Values.plugins -}}
{{- if $selected -}}
{{- include "weir.patch" (list $manifest ($root.Files.Get (printf "manifests/%s/%s" $overlay $file) | fromYaml)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $manifest.metadata "namespace" $root.Release.Namespace -}}
{{- toYaml $manifest -}}
{{- end -}}

{{/*
weir.options ROOT: the ConfigMap with the options of `weir install`, as YAML.
*/}}
{{- define "weir.options" -}}
{{- $map := include "weir.manifest" (list . "options.yaml") | fromYaml -}}
{{- with .Values.binDir -}}
{{- $_ := set $map.data "WEIR_INSTALL_BIN_DIR" . -}}
{{- end -}}
{{- with .Values.confDir -}}
{{- $_ := set $map.data "WEIR_INSTALL_CONF_DIR" . -}}
{{- end -}}
{{- range $name, $value := .Values.options -}}
{{- $_ := set $map.data $name (toString $value) -}}
{{- end -}}
{{- toYaml $map -}}
{{- end -}}

{{/*
weir.image ROOT: the image's reference.
*/}}
{{- define "weir.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
weir.pod (list ROOT POD CONTAINER): changes the specification of a pod, and weir's container in it, to what the values say.
*/}}
{{- define "weir.pod" -}}
{{- $root := index . 0 -}}
{{- $values := $root.Values -}}
{{- $pod := index . 1 -}}
{{- $container := index . 2 -}}
{{- $_ := set $container "image" (include "weir.image" $root) -}}
{{- $_ := set $container "imagePullPolicy" $values.image.pullPolicy -}}
{{- range $key := list "resources" "securityContext" -}}
{{- include "weir.patch" (list $container (dict $key (get $values $key))) -}}
{{- end -}}
{{- range $name, $path := dict "plugins" $values.binDir "networks" $values.confDir -}}
{{- if $path -}}
{{- include "weir.patch" (list $container (dict "volumeMounts" (list (dict "name" $name "mountPath" $path)))) -}}
{{- include "weir.patch" (list $pod (dict "volumes" (list (dict "name" $name "hostPath" (dict "path" $path))))) -}}
{{- end -}}
{{- end -}}
{{- range $key := list "env" "volumeMounts" -}}
{{- with get $values $key -}}
{{- $_ := set $container $key (concat (get $container $key | default list) .) -}}
{{- end -}}
{{- end -}}
{{- with $values.volumes -}}
{{- $_ := set $pod "volumes" (concat $pod.volumes .) -}}
{{- end -}}
{{- include "weir.patch" (list $pod (dict "nodeSelector" $values.nodeSelector)) -}}
{{- range $key := list "affinity" "imagePullSecrets" "tolerations" -}}
{{- with get $values $key -}}
{{- $_ := set $pod $key . -}}
{{- end -}}
{{- end -}}
{{- end -}}
