import type { DomainWords } from '../domain-words.ts';
import { agriculture } from './agriculture.ts';
import { arts } from './arts.ts';
import { astronomy } from './astronomy.ts';
import { biology } from './biology.ts';
import { chemistry } from './chemistry.ts';
import { cooking } from './cooking.ts';
import { customerSupport } from './customer-support.ts';
import { education } from './education.ts';
import { energy } from './energy.ts';
import { environment } from './environment.ts';
import { finance } from './finance.ts';
import { history } from './history.ts';
import { humanResources } from './human-resources.ts';
import { insurance } from './insurance.ts';
import { law } from './law.ts';
import { manufacturing } from './manufacturing.ts';
import { medicine } from './medicine.ts';
import { music } from './music.ts';
import { philosophy } from './philosophy.ts';
import { physics } from './physics.ts';
import { politics } from './politics.ts';
import { psychology } from './psychology.ts';
import { realEstate } from './real-estate.ts';
import { retail } from './retail.ts';
import { security } from './security.ts';
import { shipping } from './shipping.ts';
import { software } from './software.ts';
import { sport } from './sport.ts';
import { travel } from './travel.ts';
import { vehicles } from './vehicles.ts';
import { weather } from './weather.ts';

/** All domains of the calibration corpus. Their order is part of what a seed gives. */
export const DOMAINS: readonly DomainWords[] = [
  agriculture,
  arts,
  astronomy,
  biology,
  chemistry,
  cooking,
  customerSupport,
  education,
  energy,
  environment,
  finance,
  history,
  humanResources,
  insurance,
  law,
  manufacturing,
  medicine,
  music,
  philosophy,
  physics,
  politics,
  psychology,
  realEstate,
  retail,
  security,
  shipping,
  software,
  sport,
  travel,
  vehicles,
  weather,
];
