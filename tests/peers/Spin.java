/* Spends a time in methods with names, for recordings of the JVM. */
public class Spin {
	static double sum;

	static void hot(int n) {
		for (int i = 0; i < n; i++)
			sum += Math.sqrt(i);
	}

	static void cold(int n) {
		for (int i = 0; i < n / 4; i++)
			sum -= Math.cbrt(i);
	}

	public static void main(String[] args) {
		long end = System.currentTimeMillis() + Long.parseLong(args[0]);

		while (System.currentTimeMillis() < end) {
			hot(1000000);
			cold(1000000);
		}
		System.out.println(sum);
	}
}
