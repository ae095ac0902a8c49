package org.apache.iceberg.rest;

import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * The REST catalog of Apache Iceberg's own tests, on a port of 127.0.0.1. Its RESTCatalogServer does the same, and listens on every
 * interface. The arguments are the port and the catalog's properties, as in warehouse=file:///tmp/w; a property give.NAME is one
 * that clients are given with each table, as keys of a bucket are. The server ends when its standard input does, so that it
 * doesn't outlive the test that started it. It is in Iceberg's package because the kinds of requests have no name outside.
 */
class RestCatalog {
  public static void main(String[] args) throws Exception {
    Map<String, String> properties = new HashMap<>();
    Map<String, String> given = new HashMap<>();
    for (int i = 1; i < args.length; i++) {
      String[] pair = args[i].split("=", 2);
      if (pair[0].startsWith("give.")) {
        given.put(pair[0].substring("give.".length()), pair[1]);
      } else {
        properties.put(pair[0], pair[1]);
      }
    }
    var catalog = CatalogUtil.buildIcebergCatalog("tests", properties, new Configuration());
    var context = new ServletContextHandler();
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new Giving(catalog, given))), "/*");
    var server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])));
    server.setHandler(context);
    server.start();
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }

  /** Gives clients some properties with each table. */
  static class Giving extends RESTCatalogAdapter {
    private final Map<String, String> given;

    Giving(Catalog catalog, Map<String, String> given) {
      super(catalog);
      this.given = given;
    }

    @Override
    public <T extends RESTResponse> T handleRequest(Route route, Map<String, String> vars, Object body, Class<T> kind) {
      T answer = super.handleRequest(route, vars, body, kind);
      if (given.isEmpty() || !(answer instanceof LoadTableResponse table)) {
        return answer;
      }
      return castResponse(kind, LoadTableResponse.builder().withTableMetadata(table.tableMetadata()).addAllConfig(given).build());
    }
  }
}
