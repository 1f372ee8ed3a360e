<?php
/* Spends its time in known shares.
 *
 *     shares.php SECONDS
 *
 * 60, 30 and 10 percent go to the functions of these names, which spin, and to
 * a function of PHP's own that calls one of them. Prints "ready", and at the end,
 * or at SIGTERM, the shares of the CPU time that the first and the last had.
 */
namespace Shop;

function spin($n)
{
    $total = 0;
    for ($i = 0; $i < $n; $i++) {
        $total += $i % 7;
    }
    return $total;
}

class Cart
{
    public function share_60()
    {
        for ($i = 0; $i < 60; $i++) {
            spin(100);
        }
    }

    public static function share_30()
    {
        foreach (range(1, 30) as $_) {
            spin(100);
        }
    }
}

function share_10()
{
    array_map(function ($i) {
        return spin(100);
    }, range(1, 10));
}

function each_of($n)
{
    for ($i = 0; $i < $n; $i++) {
        yield spin(1000);
    }
}

function cpu_us()
{
    $r = getrusage();
    return 1e6 * ($r['ru_utime.tv_sec'] + $r['ru_stime.tv_sec']) +
        $r['ru_utime.tv_usec'] + $r['ru_stime.tv_usec'];
}

$spent = [0, 0, 0];

function work($till)
{
    global $spent;
    $cart = new Cart();
    while (microtime(true) < $till) {
        spin(mt_rand(0, 50000)); // or the loop keeps step with the samples
        $times = [cpu_us()];
        for ($i = 0; $i < 20; $i++) { // looking at the time takes long, too
            $cart->share_60();
        }
        $times[] = cpu_us();
        for ($i = 0; $i < 20; $i++) {
            Cart::share_30();
        }
        $times[] = cpu_us();
        for ($i = 0; $i < 20; $i++) {
            share_10();
        }
        $times[] = cpu_us();
        for ($i = 0; $i < 3; $i++) {
            $spent[$i] += $times[$i + 1] - $times[$i];
        }
    }
}

function waits()
{
    foreach (each_of(300) as $_) {
        usleep(10);
    }
}

$till = microtime(true) + (float) $argv[1];
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () {
    $GLOBALS['till'] = 0;
});
echo "ready\n";
while (microtime(true) < $till) {
    work(microtime(true) + 0.1);
    waits();
}
printf("%.4f %.4f\n", $spent[0] / array_sum($spent), $spent[2] / array_sum($spent));
