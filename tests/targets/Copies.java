/** Copies memory with code that the JVM generates: java Copies.java */
public class Copies {
  static final byte[] from = new byte[1 << 20], to = new byte[1 << 20];

  static void copy() {
    System.arraycopy(from, 0, to, 0, from.length);
  }

  public static void main(String[] args) {
    System.out.println("ready");
    for (;;) copy();
  }
}
