# The image: one static binary on a base without a shell. README.md says how it is built and started.
#
# Both bases may be replaced. The builder needs Go and a shell; the runtime base needs certificates of authorities, and
# nothing else: time zones are in the binary.
#
# They are named by the digest of their index, of all platforms; the tag is for people. For newer ones, look with
#   docker buildx imagetools inspect golang:1.26.8-bookworm
# and put the line Digest here. deploy/agree_test.go wants one.
ARG BUILDER=docker.io/library/golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d
ARG RUNTIME=gcr.io/distroless/static-debian12:nonroot@sha256:afa5c872c891853ca7fcf1f12c3edb23f7eeef36189728842dd51042ff57f7ab

FROM ${BUILDER} AS build
WORKDIR /src
# Modules are a layer of their own: it stays until go.mod or go.sum changes.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
ARG REVISION=
# The commit's date, in RFC 3339.
ARG DATE=
# The tag leaves out the gRPC transport of Google's storage client, 13 MB of code: gs:// goes over HTTPS with JSON. For the image that
# writes Iceberg tables it is disable_grpc_modules,iceberg.
ARG TAGS=disable_grpc_modules
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags "${TAGS}" \
    -ldflags "-s -w -X main.released=${VERSION} -X main.revision=${REVISION} -X main.committed=${DATE}" -o /image/reportferry ./cmd/reportferry \
 && go run ./deploy/licenses -tags "${TAGS}" ./cmd/reportferry >/image/third-party-licenses.txt \
 && mkdir /image/spool

FROM ${RUNTIME}
ARG VERSION=devel
ARG REVISION=
LABEL org.opencontainers.image.title="reportferry" \
      org.opencontainers.image.description="Ferries reports of a mobile-measurement service into partitioned tables" \
      org.opencontainers.image.source="https://github.com/reportferry/reportferry" \
      org.opencontainers.image.documentation="https://github.com/reportferry/reportferry/blob/main/README.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image/reportferry /reportferry
COPY --from=build /src/LICENSE /src/NOTICE /image/third-party-licenses.txt /licenses/
COPY --from=build --chown=65532:65532 /image/spool /spool
# The only folder that is written, so the root file system may be read-only. Parts of windows in flight lie there.
VOLUME /spool
ENV REPORTFERRY_CONFIG=/etc/reportferry/config.yml \
    REPORTFERRY_LOG_FORMAT=json \
    GOTRACEBACK=crash \
    TMPDIR=/spool
WORKDIR /
# By number, so that Kubernetes' runAsNonRoot can tell; 65532 is "nonroot" of the base.
USER 65532:65532
ENTRYPOINT ["/reportferry"]
CMD ["run"]
