# The image of a release: the binary of its archive, on the same base and with the same settings as ../Dockerfile, which builds one of
# a clone. goreleaser lays what is copied here; deploy/agree_test.go holds the two together.
ARG RUNTIME=gcr.io/distroless/static-debian12:nonroot@sha256:afa5c872c891853ca7fcf1f12c3edb23f7eeef36189728842dd51042ff57f7ab

FROM ${RUNTIME}
ARG TARGETPLATFORM
# The folder below out/release with the licences of what is in the binary.
ARG LICENSES=linux
COPY $TARGETPLATFORM/reportferry /reportferry
COPY LICENSE NOTICE out/release/${LICENSES}/third-party-licenses.txt /licenses/
COPY --chown=65532:65532 out/release/spool /spool
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
