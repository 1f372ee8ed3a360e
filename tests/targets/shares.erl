%% Functions with known shares of a process's time, and another process, which
%% spends its time in C.
-module(shares).
-export([main/1]).

main([Seconds]) ->
    End = erlang:monotonic_time(millisecond) + 1000 * list_to_integer(Seconds),
    io:format("ready~n"),
    {_, Other} = spawn_monitor(fun() -> in_c_until(End, lists:seq(1, 20000)) end),
    ok = work(End),
    receive {'DOWN', Other, process, _, _} -> ok end,
    halt(0).

work(End) ->
    _ = [share_60(), share_30(), share_10()],
    case erlang:monotonic_time(millisecond) < End of
        true -> work(End);
        false -> ok
    end.

share_60() -> 1 + spin(6000, 0).
share_30() -> 1 + spin(3000, 0).
share_10() -> 1 + spin(1000, 0).

spin(0, Sum) -> Sum;
spin(N, Sum) -> spin(N - 1, (Sum + N) rem 1009).

in_c_until(End, List) ->
    _ = in_c(List),
    case erlang:monotonic_time(millisecond) < End of
        true -> receive after 5 -> ok end, in_c_until(End, List);
        false -> ok
    end.

in_c(List) -> [term_to_binary(List)].
