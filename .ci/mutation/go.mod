module github.com/reportferry/reportferry/.ci/mutation

go 1.26.0

require (
	github.com/zimmski/go-mutesting v0.0.0-20210610104036-6d9217011a00
	golang.org/x/tools v0.52.0
)

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
