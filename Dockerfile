# A static program, run by a user who is not root:
#   docker build -t agentbench .
#   docker run --rm -v "$PWD:/work" agentbench run suite.yaml
# agentbench-temporal, for many machines, is a target of its own (docs/ci.md):
#   docker build --target temporal -t agentbench-temporal .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags '-s -w' -o /agentbench ./cmd/agentbench

FROM build AS build-temporal
RUN CGO_ENABLED=0 go -C engine/temporal build -trimpath -ldflags '-s -w' -o /agentbench-temporal ./agentbench-temporal

FROM gcr.io/distroless/static-debian12:nonroot AS temporal
COPY --from=build-temporal /agentbench-temporal /usr/local/bin/agentbench-temporal
COPY LICENSE NOTICE /usr/share/doc/agentbench/
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/agentbench-temporal"]

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /agentbench /usr/local/bin/agentbench
COPY LICENSE NOTICE /usr/share/doc/agentbench/
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/agentbench"]
