// The contest's job for Kafka Streams: a record for each session of a key, once it has been quiet for so long.
//
//   Sessions BROKERS TOPIC OUTPUT APPLICATION STATE QUIET_MS suppress|close [NAME=VALUE...]
//
// The output's records have the key, and "FIRST LAST COUNT" with times in milliseconds. suppress and close are the
// two ways that Streams has to give a session once only: suppress() behind the count, and emitStrategy() before it.
// NAME=VALUE are settings of Streams and of its clients.
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindowedKStream;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.Windowed;

public final class Sessions {
  private static KTable<Windowed<String>, Long> count(
      SessionWindowedKStream<String, byte[]> sessions, boolean suppress) {
    if (!suppress) return sessions.emitStrategy(EmitStrategy.onWindowClose()).count();
    return sessions.count().suppress(Suppressed.untilWindowCloses(BufferConfig.unbounded()));
  }

  public static void main(String[] args) throws InterruptedException {
    Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[3]);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, args[4]);
    settings.put("auto.offset.reset", "earliest");
    for (int i = 7; i < args.length; ++i) {
      int equals = args[i].indexOf('=');
      settings.put(args[i].substring(0, equals), args[i].substring(equals + 1));
    }

    Duration quiet = Duration.ofMillis(Long.parseLong(args[5]));
    StreamsBuilder builder = new StreamsBuilder();
    SessionWindowedKStream<String, byte[]> sessions =
        builder.stream(args[1], Consumed.with(Serdes.String(), Serdes.ByteArray()))
            .groupByKey(Grouped.with(Serdes.String(), Serdes.ByteArray()))
            .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(quiet));
    count(sessions, args[6].equals("suppress"))
        .toStream()
        .filter((key, count) -> count != null)
        .map((key, count) -> KeyValue.pair(
            key.key(), key.window().start() + " " + key.window().end() + " " + count))
        .to(args[2], Produced.with(Serdes.String(), Serdes.String()));

    KafkaStreams streams = new KafkaStreams(builder.build(), settings);
    CountDownLatch asked = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      streams.close();
      asked.countDown();
    }));
    streams.start();
    asked.await();
  }
}
