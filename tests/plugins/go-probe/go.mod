module weir.dev/tests/go-probe

go 1.26

require weir.dev/weir v0.0.0

replace weir.dev/weir => ../../../sdk/go
