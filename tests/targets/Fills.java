/**
 * Fills the heap, 60, 30 and 10 percent of the bytes in the methods of these
 * names, and keeps a part.
 *
 *	java Fills SECONDS
 *
 * Prints "ready" when they are compiled.
 */
public class Fills {
  static final byte[][] kept = new byte[512][];
  static int at;

  static void keep(byte[] one) {
    kept[at++ % kept.length] = one;
  }

  static void fill60() {
    for (int i = 0; i < 60; i++) keep(new byte[984]); // and a header of 16
  }

  static void fill30() {
    for (int i = 0; i < 30; i++) keep(new byte[984]);
  }

  static void fill10() {
    for (int i = 0; i < 10; i++) keep(new byte[984]);
  }

  static void fill(int rounds) {
    for (int i = 0; i < rounds; i++) {
      fill60();
      fill30();
      fill10();
    }
  }

  public static void main(String[] args) throws InterruptedException {
    fill(20000); // calls enough for a compiler
    System.out.println("ready");
    for (long end = System.currentTimeMillis() + 1000 * Long.parseLong(args[0]);
        System.currentTimeMillis() < end; Thread.sleep(5)) fill(20);
  }
}
