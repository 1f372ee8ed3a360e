import java.lang.management.ManagementFactory;

/** As share.c with "work". */
public class Share {
  static long share_60() {
    long total = 0;
    for (int i = 0; i < 60000; i++) total += i % 7;
    return total;
  }

  static long share_30() {
    long total = 0;
    for (int i = 0; i < 30000; i++) total += i % 7;
    return total;
  }

  static long share_10() {
    long total = 0;
    for (int i = 0; i < 10000; i++) total += i % 7;
    return total;
  }

  public static void main(String[] args) {
    var threads = ManagementFactory.getThreadMXBean();
    double printed = 0;
    long total = 0;
    for (long rounds = 1;; rounds++) {
      total += share_60() + share_30() + share_10();
      double cpu = threads.getCurrentThreadCpuTime() / 1e9;
      if (cpu - printed < 0.02 || total < 0) continue;
      printed = cpu;
      System.out.println(rounds + " " + cpu);
    }
  }
}
