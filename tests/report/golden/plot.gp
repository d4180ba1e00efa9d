# gnuplot -c THIS.gp OUT.png, or OUT.svg
$panel0_series0 << END
2 0.5 0
8 2 0
32 40 0
END
$panel0_series1 << END
2 0.6 0.1
8 1.7 0.2
32 44 50
END
$panel0_series2 << END
2 1 0
32 30 0
END
if (exists('ARG1') && strlen(ARG1) > 0) {
  if (strlen(ARG1) > 4 && ARG1[strlen(ARG1)-3:] eq '.svg') {
    set terminal svg size 900,380 background rgb 'white' font 'sans,12'
  } else {
    set terminal pngcairo size 900,380 font 'sans,10'
  }
  set output ARG1
}
set encoding utf8
set termoption noenhanced
set datafile missing 'NaN'
set grid lw 1 lc rgb '#cccccc' dt solid
set key outside right top Left reverse samplen 3
set bmargin 7
set multiplot layout 1,1 title 'A figure'

set title 'Norm & <size>'
set xlabel 'depth (blocks)'
set logscale x
set xrange [1.7900501418559447:35.75318841831104]
set xtics ('2' 2, '8' 8, '32' 32)
set ylabel 'gradient norm (nats)'
set logscale y
set yrange [0.4055119812233547:115.90286397509067]
set ytics ('0.5' 0.5, '1' 1, '2' 2, '5' 5, '10' 10, '20' 20, '50' 50, '100' 100)
unset label
plot \
  $panel0_series0 with lines lw 2 lc rgb '#2c7fd1' dt (14,6) title 'post, predicted', \
  $panel0_series1 using 1:2:3 with yerrorbars pt 7 ps 0.9 lc rgb '#2c7fd1' title 'post, measured', \
  $panel0_series2 with lines lw 2 lc rgb '#cf6a10' dt (2,6) title 'it''s, fitted'
unset multiplot
unset output
