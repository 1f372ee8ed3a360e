/**
 * Spends 60 %, 30 % and 10 % of its time in methods with these names, while
 * other threads wait: one asleep, and one parked.
 *
 *	java Shares.java SECONDS
 *
 * Prints "ready" when they are compiled.
 */
public class Shares {
  static long spin(int n) {
    long total = 0;
    for (int i = 0; i < n; i++) total += i % 7;
    return total;
  }

  static long share60() {
    return spin(60000) + spin(60001);
  }

  static long share30() {
    return spin(30000) + spin(30001);
  }

  static long share10() {
    return spin(10000) + spin(10001);
  }

  static long work(long ms, int rounds) {
    long end = System.currentTimeMillis() + ms, total = 0;
    java.util.Random random = new java.util.Random();
    while (System.currentTimeMillis() < end || rounds-- > 0) {
      total += spin(random.nextInt(200000)); // or the loop keeps step with the samples
      total += share60() + share30() + share10();
    }
    return total;
  }

  static void nap() {
    try {
      for (;;) Thread.sleep(10);
    } catch (InterruptedException e) {
    }
  }

  static void park() {
    for (;;) java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
  }

  static void begin(Runnable waits) {
    Thread t = new Thread(waits);
    t.setDaemon(true);
    t.start();
  }

  public static void main(String[] args) {
    begin(Shares::nap);
    begin(Shares::park);
    long total = work(500, 1000); // calls enough for a compiler
    System.out.println("ready");
    total += work(1000 * Long.parseLong(args[0]), 0);
    System.out.println(total);
  }
}
